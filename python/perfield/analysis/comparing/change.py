# SPDX-License-Identifier: BSD-3-Clause
"""How much a number changed between two series of steps, and whether that is more than chance.

Steps are not independent: a step after a slow one is often slow, too. So an error comes from the means of at
most 20 blocks of consecutive steps, and the correlation between neighbouring blocks lowers the number of
blocks that count (`perfield.analysis.chance.mean_error`, the code of the summary). Two errors are
joined as in Welch's test, whose degrees of freedom are those of the blocks that count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from perfield.analysis.chance import chance_of_t, mean_error
from perfield.analysis.distributions import student_quantile

CONFIDENCE = 0.95  # of intervals
CHANCE = 0.01  # accepted probability that any change of a table is wrongly called more than chance


@dataclass(frozen=True)
class Estimate:
    """A number that scatters. error : its standard error. degrees_of_freedom : of that; 0: not known."""

    value: float
    error: float = 0.0
    degrees_of_freedom: float = 0.0


@dataclass(frozen=True)
class Change:
    """A number before and after.

    low, high : the interval that holds the true difference with 95 % probability; None where the scatter of
    the number is not known. share_low, share_high : likewise of `share`; None also where `before` may be 0.
    chance : the probability that chance alone makes as large a difference, either up or down; None where the
    scatter is not known.
    """

    before: float
    after: float
    low: float | None = None
    high: float | None = None
    share_low: float | None = None
    share_high: float | None = None
    chance: float | None = None

    @property
    def difference(self) -> float:
        """After minus before, in the number's unit."""
        return self.after - self.before

    @property
    def share(self) -> float | None:
        """The difference as a part of `before`: 0.12 is 12 % more; None where `before` is 0."""
        return self.difference / self.before if self.before else None


def mean_of(series: np.ndarray) -> Estimate:
    """The mean of numbers, one per step in their order. Raises ValueError if there are none."""
    series = np.asarray(series, float)
    if not len(series):
        raise ValueError("a mean needs at least one step")
    value = float(series.mean())
    if np.ptp(series) <= 1e-12 * abs(value):  # rounding is no scatter
        return Estimate(value, 0.0, float(min(len(series), 20) - 1))
    _, error, degrees = mean_error(series.tolist())
    return Estimate(value, error, degrees)


def one_step(value: float, ordinary: np.ndarray) -> Estimate:
    """The number of a single step, which scatters as the ordinary steps do. ordinary : (n_steps,)."""
    ordinary = np.asarray(ordinary, float)
    if len(ordinary) < 2:
        return Estimate(value)
    counting = mean_of(ordinary).degrees_of_freedom
    return Estimate(value, float(ordinary.std(ddof=1)), counting)


def ratio_of_sums(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """A number per step whose mean is sum(above) / sum(below), and which scatters as that does.

    above, below : (n_steps,). The scatter is that of the linear part (the delta method; Cochran, Sampling
    Techniques, 6.3). NaN where below is 0 in all steps.
    """
    total = float(np.sum(below))
    if not total > 0:
        return np.full(len(above), np.nan)
    ratio = float(np.sum(above)) / total
    return ratio + (above - ratio * below) / (total / len(below))


def change(before: Estimate, after: Estimate) -> Change:
    """Compares two numbers that scatter independently (Welch's test)."""
    bare = Change(before.value, after.value)
    if not (before.degrees_of_freedom > 0 and after.degrees_of_freedom > 0):
        return bare
    squares = before.error**2, after.error**2
    difference, error = bare.difference, math.sqrt(sum(squares))
    if error <= 0:
        share = bare.share
        exact = difference, difference, share, share
        return Change(before.value, after.value, *exact, float(difference == 0))
    degrees = sum(squares) ** 2 / (
        squares[0] ** 2 / before.degrees_of_freedom + squares[1] ** 2 / after.degrees_of_freedom
    )
    reach = student_quantile((1 - CONFIDENCE) / 2, degrees)
    return Change(
        before.value,
        after.value,
        difference - reach * error,
        difference + reach * error,
        *_ends_of_share(before, after, reach),
        min(1.0, 2 * chance_of_t(abs(difference) / error, degrees)),
    )


def beyond_chance(chances: Sequence[float | None], accepted: float = CHANCE) -> list[bool]:
    """Which of several tests show more than chance (Holm's method).

    accepted : probability of any wrong answer among all of them. None is never more than chance.
    """
    tested = sorted((chance, at) for at, chance in enumerate(chances) if chance is not None)
    found = [False] * len(chances)
    for place, (chance, at) in enumerate(tested):
        if chance > accepted / (len(tested) - place):
            break
        found[at] = True
    return found


def share_as_far(value: float, ordinary: Iterable[float]) -> float:
    """The part of ordinary numbers that lie at least as far from their mean as a value."""
    known = np.asarray(list(ordinary), float)
    if not len(known):
        return 1.0
    apart = np.abs(known - known.mean())
    return float((apart >= abs(value - known.mean())).mean())


def _ends_of_share(before: Estimate, after: Estimate, reach: float) -> tuple[float | None, float | None]:
    """The interval of after / before - 1 (Fieller's theorem): all ratios that a test would not exclude, but
    no less than -1, as times and amounts are never negative."""
    a = before.value**2 - (reach * before.error) ** 2
    b = -2 * before.value * after.value
    c = after.value**2 - (reach * after.error) ** 2
    root = b * b - 4 * a * c
    if a <= 0 or root < 0:
        return None, None
    ends = [(-b + sign * math.sqrt(root)) / (2 * a) - 1 for sign in (-1, 1)]
    return max(min(ends), -1.0), max(ends)
