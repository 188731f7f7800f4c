# SPDX-License-Identifier: BSD-3-Clause
"""Synchronisation entropy, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.planted_phases import phases_of

from perfield.studies.rhythm.model import CIRCLE_BINS, RhythmError, difference_histogram, entropy


@pytest.mark.parametrize("metric", [entropy, lambda phase, bins: difference_histogram(phase, bins=bins)])
def test_no_bins_and_parts_of_bins_are_refused(metric):
    for bins in (0, -1, 2.5):
        with pytest.raises(RhythmError, match=f"bins = {bins}; expected a whole number above 0, or None"):
            metric(phases_of([0.1, 0.2]), bins)


def test_two_equal_groups_have_the_entropy_of_a_coin():
    found = entropy(phases_of([0.1] * 9 + [0.4] * 9), CIRCLE_BINS)
    assert float(found) == pytest.approx(np.log(2))
    assert int(found.bins) == 36


def test_ranks_in_every_bin_have_the_largest_entropy():
    every = phases_of(np.arange(36) / 36 + 0.3 + 0.001 * (np.arange(36) == 7))  # psi is a quarter turn from 7
    assert float(entropy(every, CIRCLE_BINS)) == pytest.approx(np.log(36))
    assert float(entropy(every, CIRCLE_BINS, relative=True)) == pytest.approx(1)


@pytest.mark.parametrize("bins", [None, 2, 35, CIRCLE_BINS])
def test_synchronous_ranks_have_none_though_rounding_moves_them(bins):
    steps = np.random.default_rng(4).permuted(np.tile(np.arange(1e4, 1e4 + 18), (3, 1)), axis=1).T
    late = phases_of(steps + 0.37)  # whole steps apart: each phase is rounded otherwise
    assert entropy(late, bins).values.tolist() == [0, 0, 0]
    assert entropy(late, bins, relative=True).values.tolist() == [0, 0, 0]


def test_bins_of_freedman_and_diaconis_follow_hazens_quantiles():
    # 0, 0.01, ..., 0.07: Hazen's quartiles are the means of 2nd and 3rd, 6th and 7th: IQR = 0.04;
    # h = 2 * 0.04 / 8^(1/3) = 0.04, so 0.07 / 0.04 gives 2 bins of 4 each.
    found = entropy(phases_of(np.arange(8) / 100))
    assert int(found.bins) == 2
    assert float(found) == pytest.approx(np.log(2))


def test_one_rank_apart_is_seen_though_the_quartiles_are_equal():
    # 17 + 1 of 18 in 14 bins: -17/18 ln(17/18) - 1/18 ln(1/18)
    found = entropy(phases_of([0.75] + [0] * 17))
    assert int(found.bins) == 14
    assert float(found) == pytest.approx(np.log(18) - 17 / 18 * np.log(17))


def test_nearly_synchronous_ranks_keep_entropy_with_bins_that_adapt():
    close = phases_of(np.tile([0, 1e-6], 9))
    assert float(entropy(close)) == pytest.approx(np.log(2))
    assert float(entropy(close, CIRCLE_BINS)) == 0


def test_ranks_without_a_phase_do_not_count():
    found = entropy(phases_of([[0.1, np.nan], [0.4, np.nan], [np.nan, np.nan]]), CIRCLE_BINS)
    assert found.values[0] == pytest.approx(np.log(2))
    assert np.isnan(found.values[1])
    half = np.append(np.tile([0.1, 0.4], 9), [np.nan] * 18)
    adaptive = entropy(phases_of(np.stack([half, half * np.nan, half[::-1]], axis=1)))
    assert adaptive.values[[0, 2]] == pytest.approx([np.log(2)] * 2)
    assert np.isnan(adaptive.values[1])


def test_bins_that_adapt_do_not_separate_two_clusters_of_few_ranks():
    few = phases_of([0.1, 0.4] * 3)  # h = 2 IQR / 6^(1/3) is wider than the range
    assert float(entropy(few)) == 0
    assert float(entropy(few, CIRCLE_BINS)) == pytest.approx(np.log(2))


def test_entropy_agrees_with_numpys_histogram():
    phase = phases_of(np.random.default_rng(2).normal(0, 0.1, (40, 30)))
    found = entropy(phase)
    for k in range(30):
        turn = np.exp(1j * phase[:, k].values)
        around = np.angle(turn / turn.mean())
        low, high = np.quantile(around, [0.25, 0.75], method="hazen")
        width = np.ptp(around)
        count = np.ceil(width / (2 * max(high - low, width / 10) * 40 ** (-1 / 3)))
        share = np.histogram(around, int(count))[0] / 40
        assert int(found.bins[k]) == count
        assert float(found[k]) == pytest.approx(-np.sum(share[share > 0] * np.log(share[share > 0])))
