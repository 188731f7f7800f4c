# SPDX-License-Identifier: BSD-3-Clause
"""Two versions within the same regimes: planted changes are found, luck is none, strangers are refused."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.planted_regimes import two_levels

from perfield.studies.regimes.model import TIME, RegimeError, largest, simulated, timings
from perfield.studies.regimes.model.comparing import compare_regimes

NAMES = ("old", "new")


def series(seed, faster=1.0, model=None, n_steps=4000):
    """Times of a version that is `faster` times as fast, on a machine with two regimes."""
    times = simulated(model or two_levels(), 1, n_steps, seed)
    return timings(times[TIME].values / faster)


def compared(before, after, n_regimes=2, **options):
    return compare_regimes(before, after, NAMES, n_regimes, n_resamples=400, **options)


@pytest.mark.parametrize("faster", [1.01, 1.05, 1.6])
def test_finds_by_how_much_a_version_is_faster_in_each_regime(faster):
    found = compared(series(1), series(2, faster))
    truth = 1 - 1 / faster
    for one in found.regimes:
        assert one.low - 0.002 <= truth <= one.high + 0.002
    assert found.fast.share == pytest.approx(truth, abs=0.003) and found.fast.beyond_chance
    assert found.verdict.startswith("In the fast regime new takes ") and " % less per step" in found.verdict
    assert found.is_aligned == (faster > 1.3)


def test_identical_versions_differ_by_chance_in_few_of_many_pairs():
    wrong = np.zeros(3)
    for seed in range(25):
        found = compared(series(2 * seed, n_steps=1500), series(2 * seed + 1, n_steps=1500))
        wrong += [one.beyond_chance for one in (*found.regimes, found.overall)]
    assert (wrong <= 4).all(), wrong  # 1 of 25 is expected at 5 %; a plain test says so of 12


def test_busier_machine_is_not_taken_for_a_slower_version():
    found = compared(series(1), series(2, model=two_levels(0.85, 0.85)))
    assert not found.fast.beyond_chance
    assert found.overall.share < -0.2 and found.from_shares.share == pytest.approx(
        found.overall.share, abs=0.02
    )
    assert "do not differ by more than chance" in found.verdict
    assert "more: the slow regime had 25 % of the steps, then 5" in found.verdict
    assert found.shares[1].low > 0.1


def test_regimes_that_do_not_match_are_refused():
    far = two_levels()
    slower = type(far)(**{**vars(far), "location": np.log([1e-3, 20e-3])})
    with pytest.raises(RegimeError, match=r"regimes of old and new do not match.*Measure both in turn"):
        compared(series(1), series(2, 1.7, slower))


def test_versions_of_one_regime_each_are_refused():
    quiet = np.random.default_rng(0).standard_normal((2, 1, 500))
    before, after = (timings(level * np.exp(0.02 * noise)) for level, noise in zip((1e-3, 2e-3), quiet))
    with pytest.raises(RegimeError, match="nothing separates the machine's state from the program's change"):
        compared(before, after, None)


def test_rare_regimes_are_reported_to_be_uncertain():
    rare = two_levels(0.998, 0.99)
    found = compared(series(5, model=rare), series(8, model=rare))
    assert any("was in the slow regime only" in note for note in found.notes)


def test_steps_without_a_time_are_no_further_visits():
    rare = two_levels(0.998, 0.99)
    sides = [series(seed, model=rare) for seed in (5, 8)]
    for side in sides:
        side[TIME][:, ::10] = np.nan
    assert any("was in the slow regime only" in note for note in compared(*sides).notes)


def test_longest_times_of_several_ranks_are_compared():
    before, after = (largest(simulated(two_levels(), 4, 2000, seed)) for seed in (1, 2))
    found = compared(before, after)
    assert not found.fast.beyond_chance and found.n_steps == (2000, 2000)
