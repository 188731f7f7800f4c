# SPDX-License-Identifier: BSD-3-Clause
"""Amdahl's and Gustafson's laws, fitted to times whose serial share is known."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.analysis.scaling_laws import STRONG, WEAK, ScalingError, curve, fit, strong_time, weak_time

SIZES = np.array([1, 2, 4, 8, 16])


def noisy(times: np.ndarray, seed: int, scatter: float = 0.02) -> np.ndarray:
    return times * np.exp(np.random.default_rng(seed).normal(0, scatter, len(times)))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.6, 1.0])
@pytest.mark.parametrize(("kind", "law"), [(STRONG, strong_time), (WEAK, weak_time)])
def test_exact_times_give_back_their_serial_share(kind, law, share):
    found = fit(SIZES, 3.0 * law(SIZES, share), kind)
    assert found.serial_share == pytest.approx(share, abs=1e-5)
    assert found.one_rank_s == pytest.approx(3.0, rel=1e-5)
    assert found.low - 1e-5 <= share <= found.high + 1e-5 and found.high - found.low < 1e-3
    assert found.misfit < 1e-5 and found.holds


def test_laws_are_those_of_the_thesis():
    speedup = 1 / strong_time(np.array([8]), 0.1)
    assert speedup == pytest.approx(1 / (0.1 + 0.9 / 8))  # section 2.2.1, Amdahl
    scaled = 8 / weak_time(np.array([8]), 0.1)
    assert scaled == pytest.approx(0.1 + 0.9 * 8)  # section 2.2.1, Gustafson


def test_confidence_interval_holds_the_true_share_in_95_of_100_noisy_series():
    sizes = np.repeat(SIZES, 2)
    times = strong_time(sizes, 0.1)
    fits = [fit(sizes, noisy(times, seed), STRONG) for seed in range(200)]
    hits = sum(one.low <= 0.1 <= one.high for one in fits)
    assert 180 <= hits <= 198  # 190 expected; 3 standard deviations are 9
    assert np.mean([one.serial_share for one in fits]) == pytest.approx(0.1, abs=0.003)


def test_interval_stays_within_0_and_1():
    for share in (0.0, 1.0):
        found = fit(SIZES, noisy(strong_time(SIZES, share), 3, 0.05), STRONG)
        assert 0 <= found.low <= found.serial_share <= found.high <= 1


def test_times_that_no_law_describes_are_reported():
    assert not fit(SIZES, np.array([1.0, 0.6, 1.0, 2.0, 4.0]), STRONG).holds


def test_two_numbers_of_ranks_are_no_fit():
    with pytest.raises(ScalingError, match=r"2 numbers of ranks are no fit.*measure at least 3"):
        fit(np.array([1, 1, 2, 2]), np.array([2.0, 2.1, 1.0, 1.1]), STRONG)
    found = curve(np.array([1, 2]), np.array([2.0, 1.1]), STRONG)
    assert found.fit is None and "no fit" in found.no_fit
    assert found.speedup == pytest.approx([1, 2 / 1.1])


def test_speedup_and_efficiency_are_against_the_fewest_ranks():
    found = curve(np.array([8, 2, 4]), np.array([1.5, 4.0, 2.5]), STRONG)
    assert found.n_ranks.tolist() == [2, 4, 8] and found.ideal.tolist() == [1, 2, 4]
    assert found.speedup == pytest.approx([1, 1.6, 4 / 1.5])
    assert found.efficiency == pytest.approx([1, 0.8, 4 / 1.5 / 4])


def test_weak_scaling_counts_the_work_that_grows():
    found = curve(np.array([1, 4]), np.array([1.0, 1.25]), WEAK)
    assert found.speedup == pytest.approx([1, 3.2]) and found.efficiency == pytest.approx([1, 0.8])


def test_repeated_runs_give_an_interval_and_single_ones_none():
    single = curve(np.array([1, 2]), np.array([2.0, 1.0]), STRONG)
    assert np.isnan(single.time_low_s).all() and np.isnan(single.speedup_high).all()
    found = curve(np.array([1, 1, 2, 2]), np.array([2.0, 2.2, 1.0, 1.1]), STRONG)
    assert found.time_s == pytest.approx(np.sqrt([4.4, 1.1]))  # geometric means
    # 4 runs at 2 numbers of ranks: 2 degrees of freedom, Student's t 4.303.
    scatter = np.sqrt(2 * 2 * (np.log(1.1) / 2) ** 2 / 2)
    assert np.log(found.time_high_s / found.time_s) == pytest.approx(4.30265 * scatter / np.sqrt(2), rel=1e-4)
    assert np.log(found.speedup_high / found.speedup)[1] == pytest.approx(4.30265 * scatter, rel=1e-4)
    assert found.speedup_low[0] == found.speedup_high[0] == 1
