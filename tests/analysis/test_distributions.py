# SPDX-License-Identifier: BSD-3-Clause
"""perfield.analysis.distributions agrees with SciPy, whose place it takes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from perfield.analysis.distributions import (
    chance_of_larger,
    chance_of_larger_mean,
    hypergeometric_tail,
    normal_quantile,
    normal_tail,
    ranks_of,
    student_quantile,
)
from perfield.analysis.trends import kendall_tau, median_slope

RANDOM = np.random.default_rng(35)


@pytest.mark.parametrize("tail", [1e-9, 1e-3, 0.05, 0.5, 0.95])
def test_quantiles_are_exceeded_with_that_probability(tail):
    assert normal_quantile(tail) == pytest.approx(stats.norm.isf(tail), rel=1e-9, abs=1e-12)
    assert normal_tail(normal_quantile(tail)) == pytest.approx(tail, rel=1e-9)
    for free in (1, 2.5, 30, 1e6):
        assert student_quantile(tail, free) == pytest.approx(stats.t.isf(tail, free), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    "hits, n, size", [(2, 8, 2), (0, 5, 3), (1, 5, 3), (7, 48, 8), (3, 4, 2), (60, 128, 64), (500, 9000, 520)]
)
def test_hypergeometric_tail_is_that_of_scipy(hits, n, size):
    expected = stats.hypergeom.sf(hits - 1, n, size, size)
    assert hypergeometric_tail(hits, n, size) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("n, m", [(1, 12), (3, 5), (8, 40), (9, 30), (200, 150)])
@pytest.mark.parametrize("has_ties", [False, True])
def test_rank_sum_test_is_that_of_scipy(n, m, has_ties):
    values, others = RANDOM.normal(0.4, 1, n), RANDOM.normal(0, 1, m)
    if has_ties:
        values, others = values.round(), others.round()
    method = "asymptotic" if has_ties or min(n, m) > 8 else "exact"
    expected = stats.mannwhitneyu(values, others, alternative="greater", method=method).pvalue
    assert chance_of_larger(values, others) == pytest.approx(expected, rel=1e-9)


def test_equal_values_are_no_larger_than_others():
    assert chance_of_larger(np.ones(9), np.ones(20)) == 1


def test_chance_of_a_larger_mean_is_that_of_scipy():
    values, others = RANDOM.normal(1, 1, 7), RANDOM.normal(0, 1, 5)
    expected = stats.ttest_ind(values, others, alternative="greater").pvalue
    assert chance_of_larger_mean(values, others, 0) == pytest.approx(expected, rel=1e-9)
    assert chance_of_larger_mean(np.ones(3), np.zeros(3), 1e-6) < 1e-15


def test_ranks_slopes_and_tau_are_those_of_scipy():
    for values in (RANDOM.normal(size=41), RANDOM.integers(0, 5, 40).astype(float)):
        at = np.arange(len(values))
        np.testing.assert_array_equal(ranks_of(values), stats.rankdata(values))
        assert median_slope(values) == pytest.approx(stats.theilslopes(values, at)[0], rel=1e-12)
        assert kendall_tau(values) == pytest.approx(stats.kendalltau(values, at).statistic, rel=1e-12)
    assert np.isnan(kendall_tau(np.ones(5)))
