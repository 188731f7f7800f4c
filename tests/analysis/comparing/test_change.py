# SPDX-License-Identifier: BSD-3-Clause
"""Changes between two series of steps: intervals that hold the truth, and tests that chance does not pass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from perfield.analysis.comparing import change


def correlated(random: np.random.Generator, n_steps: int, alike: float) -> np.ndarray:
    """Step times around 1 of which each resembles the one before: an AR(1) process."""
    noise = random.normal(0, 0.05, n_steps)
    found = np.empty(n_steps)
    found[0] = noise[0] / np.sqrt(1 - alike**2)
    for step in range(1, n_steps):
        found[step] = alike * found[step - 1] + noise[step]
    return 1 + found


def compared(before: np.ndarray, after: np.ndarray) -> change.Change:
    return change.change(change.mean_of(before), change.mean_of(after))


@pytest.mark.parametrize("alike", [0.0, 0.7])
def test_equal_runs_rarely_differ_even_where_neighbouring_steps_are_alike(alike):
    random = np.random.default_rng(1)
    pairs = [(correlated(random, 200, alike), correlated(random, 200, alike)) for _ in range(400)]
    called = sum(compared(*pair).chance < 0.05 for pair in pairs)
    naive = sum(stats.ttest_ind(*pair).pvalue < 0.05 for pair in pairs)
    assert called <= 0.07 * len(pairs)  # 5 %, and three standard deviations of 400 tries
    assert naive > 0.2 * len(pairs) or alike == 0.0  # what a test of independent steps would say


def test_intervals_hold_the_true_change():
    random = np.random.default_rng(2)
    found = [compared(correlated(random, 200, 0.5), 1.1 * correlated(random, 200, 0.5)) for _ in range(400)]
    held = np.mean([one.share_low <= 0.1 <= one.share_high for one in found])
    assert 0.92 <= held <= 1.0
    assert np.mean([one.low <= 0.1 <= one.high for one in found]) >= 0.92
    assert np.mean([one.chance < 0.01 for one in found]) > 0.95  # 10 % is found


def test_interval_of_the_share_excludes_no_change_where_the_test_does():
    random = np.random.default_rng(3)
    for shift in np.linspace(0, 0.05, 40):
        found = compared(correlated(random, 60, 0.3), shift + correlated(random, 60, 0.3))
        assert (found.low > 0 or found.high < 0) == (found.chance < 0.05)
        assert (found.share_low > 0 or found.share_high < 0) == (found.chance < 0.05)


def test_numbers_that_never_change_are_exact():
    same = compared(np.full(30, 0.1 + 0.2), np.full(10, 0.3))
    assert same.chance == 1.0 or same.difference != 0
    other = compared(np.full(30, 24.0), np.full(10, 8.0))
    assert (other.chance, other.low, other.high) == (0.0, -16.0, -16.0)


def test_one_step_alone_has_no_test():
    assert change.change(change.one_step(2.0, np.ones(1)), change.mean_of(np.ones(9))).chance is None
    assert change.change(change.mean_of(np.ones(1)), change.mean_of(np.ones(9))).low is None


def test_one_step_scatters_as_the_ordinary_steps_do():
    ordinary = np.random.default_rng(4).normal(1, 0.1, 100)
    near, far = (change.change(*(change.one_step(v, ordinary) for v in (1.0, value))) for value in (1.1, 2.0))
    assert near.chance > 0.1 > 1e-6 > far.chance


def test_an_interval_is_not_known_where_the_number_before_may_be_zero():
    found = compared(np.array([-1.0, 1.0, -1.0, 1.5, -1.2]), np.array([3.0, 3.1, 2.9, 3.0]))
    assert found.share_low is None and found.low is not None


def test_ratio_of_sums_is_the_mean_of_its_series():
    random = np.random.default_rng(5)
    above, below = random.uniform(1, 2, (2, 50))
    assert change.ratio_of_sums(above, below).mean() == pytest.approx(above.sum() / below.sum())
    assert np.isnan(change.ratio_of_sums(above, np.zeros(50))).all()


def test_more_tests_ask_for_less_chance_of_each():
    assert change.beyond_chance([0.004, 0.6, None]) == [True, False, False]
    assert change.beyond_chance([0.004, 0.006, 0.9]) == [False, False, False]
    assert change.beyond_chance([0.003, 0.005, 0.9]) == [True, True, False]


def test_mean_of_no_steps_is_refused():
    with pytest.raises(ValueError, match="at least one step"):
        change.mean_of(np.zeros(0))


def test_no_interval_holds_less_than_nothing():
    random = np.random.default_rng(4)
    scattered = random.exponential(1.0, 30) ** 3
    found = compared(np.full(30, 1.0), scattered)
    assert found.share_low is not None and -1.0 <= found.share_low <= found.share <= found.share_high
    slow = np.where(np.arange(30) == 20, 100.0, 1.0)  # one step of 30 is nearly all of the time
    assert compared(np.full(30, 1.0), slow).share_low == -1.0
