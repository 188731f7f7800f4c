# SPDX-License-Identifier: BSD-3-Clause
"""The tests of SciPy that findings use, with NumPy alone: SciPy takes more room than all else that a report
needs. tests/analysis/test_distributions.py compares the two.
"""

from __future__ import annotations

from math import erfc, exp, lgamma, sqrt
from statistics import NormalDist

import numpy as np

from perfield.analysis.chance import chance_of_t

EXACT = 8  # values of the smaller sample, up to which ranks without ties are counted, as SciPy does


def normal_tail(value: float) -> float:
    """The probability that a standard normal number is above a value."""
    return erfc(value / sqrt(2)) / 2


def normal_quantile(tail: float) -> float:
    """The value that a standard normal number exceeds with this probability, inside (0, 1)."""
    return -NormalDist().inv_cdf(tail)


def student_quantile(tail: float, degrees_of_freedom: float) -> float:
    """The value that Student's t exceeds with this probability, inside (0, 1)."""
    if tail > 0.5:
        return -student_quantile(1 - tail, degrees_of_freedom)
    low, high = 0.0, 1.0
    while chance_of_t(high, degrees_of_freedom) > tail:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if chance_of_t(middle, degrees_of_freedom) > tail else (low, middle)
    return high


def hypergeometric_tail(hits: int, n: int, size: int) -> float:
    """The probability that of `size` things drawn from n, at least `hits` are among `size` chosen ones."""
    first = max(hits, 2 * size - n, 0)
    if first > size:
        return 0.0
    at = np.arange(first, size)
    ratios = (size - at) ** 2 / ((at + 1.0) * (n - 2 * size + at + 1))  # to the probability before
    log_of_first = _log_ways(size, first) + _log_ways(n - size, size - first) - _log_ways(n, size)
    return min(1.0, exp(log_of_first) * float(1 + np.cumprod(ratios).sum()))


def _log_ways(n: int, k: int) -> float:
    """The logarithm of n over k."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def chance_of_larger_mean(values: np.ndarray, others: np.ndarray, least: float) -> float:
    """Student's t of two samples with one variance: the probability that the mean of values is that much
    above the others' by chance. least : the standard deviation of a sample that has less."""
    n, m = len(values), len(others)
    squares = sum((len(one) - 1) * max(one.std(ddof=1), least) ** 2 for one in (values, others))
    error = sqrt(squares / (n + m - 2) * (1 / n + 1 / m))
    return chance_of_t(float(values.mean() - others.mean()) / error, n + m - 2)


def chance_of_larger(values: np.ndarray, others: np.ndarray) -> float:
    """The test of Mann and Whitney (Annals of Mathematical Statistics 18, 1947): the probability that values
    are that much larger than others by chance. Exact for few values without ties, else by the normal
    distribution, with its corrections for ties and for whole numbers."""
    n, m = len(values), len(others)
    both = np.concatenate([values, others])
    above = float(ranks_of(both)[:n].sum()) - n * (n + 1) / 2  # pairs in which a value is above another
    _, ties = np.unique(both, return_counts=True)
    if min(n, m) <= EXACT and ties.max() == 1:
        return _chance_of_pairs(round(above), min(n, m), max(n, m))
    ties = ties.astype(float)
    variance = n * m / 12 * (n + m + 1 - float((ties**3 - ties).sum()) / ((n + m) * (n + m - 1)))
    return normal_tail((above - n * m / 2 - 0.5) / sqrt(variance)) if variance > 0 else 1.0


def _chance_of_pairs(least: int, few: int, many: int) -> float:
    """The probability that at least so many of few * many pairs are in one order: the coefficients of the
    Gaussian binomial count the ways to have each number of pairs."""
    ways = np.zeros(few * many + 1)
    ways[0] = 1
    for k in range(1, few + 1):  # times (1 - q^(many + k)) / (1 - q^k)
        ways[many + k :] -= ways[: -(many + k)].copy()
        for begin in range(k):
            ways[begin::k] = np.cumsum(ways[begin::k])
    return float(ways[least:].sum() / ways.sum())


def ranks_of(values: np.ndarray) -> np.ndarray:
    """The place of each value among all, from 1 on; equal ones share the mean of theirs. float64 (n,)."""
    _, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[inverse.ravel()]
