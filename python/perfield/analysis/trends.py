# SPDX-License-Identifier: BSD-3-Clause
"""Whether a series grows from its begin to its end, beyond chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield.analysis.distributions import normal_tail, ranks_of

MOST_PARTS = 400  # of a series: slopes of all pairs are looked at
LEAST_VALUES = 16


@dataclass(frozen=True)
class Trend:
    """A line through a series. start, end : where it begins and ends. chance : that a series without a trend,
    but as autocorrelated as this one, rises as much. is_steady : it rises in the first and in the second half
    alike, so neither one jump nor a few values at an end make it."""

    start: float
    end: float
    chance: float
    is_steady: bool

    @property
    def growth(self) -> float:
        """The end minus the start."""
        return self.end - self.start


def trend(values: np.ndarray) -> Trend | None:
    """The trend of values in their order; None for fewer than LEAST_VALUES, or if some are absent.

    The line is Theil's and Sen's (the median slope of all pairs), so three values in ten may lie anywhere:
    output steps do no harm. The test is Mann's and Kendall's; its number of independent values is reduced as
    the autocorrelation of what is left beside the line shows (Bayley and Hammersley, 1946).
    """
    if len(values) < LEAST_VALUES or not np.isfinite(values).all():
        return None
    parts = np.array([np.median(part) for part in np.array_split(values, min(len(values), MOST_PARTS))])
    n = len(parts)
    at = np.arange(n)
    slope = median_slope(parts)
    intercept = np.median(parts) - slope * np.median(at)
    tau = kendall_tau(parts)
    if not np.isfinite(tau):  # all are equal
        return Trend(float(intercept), float(intercept), 1.0, False)
    score = tau / np.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)))
    score *= np.sqrt(_independent(parts - slope * at))
    halves = (median_slope(half) for half in np.array_split(parts, 2))
    steady = all(half >= slope / 3 for half in halves) and slope > 0
    chance = normal_tail(float(score))
    return Trend(float(intercept), float(intercept + slope * (n - 1)), chance, steady)


def median_slope(values: np.ndarray) -> float:
    """The median slope of all pairs of values, per place."""
    one, other = np.triu_indices(len(values), 1)
    return float(np.median((values[other] - values[one]) / (other - one)))


def kendall_tau(values: np.ndarray) -> float:
    """Kendall's tau b of values and their places, -1 to 1; NaN if all are equal."""
    one, other = np.triu_indices(len(values), 1)
    signs = np.sign(values[other] - values[one])
    differ = np.count_nonzero(signs)
    return float(signs.sum() / np.sqrt(differ * float(len(signs)))) if differ else np.nan


def _independent(rest: np.ndarray) -> float:
    """The share of values that count as independent. rest : without the trend. Ranks take the place of
    values, so outliers do not hide what the others do."""
    order = ranks_of(rest) - (len(rest) + 1) / 2
    power = float((order**2).sum())
    if power == 0:
        return 1.0
    # The values beside a fitted line are less alike than those beside the true one (Kendall's correction).
    alike = float((order[1:] * order[:-1]).sum()) / power
    alike = min(max(alike + (1 + 4 * alike) / len(rest), 0.0), 0.99)
    return (1 - alike) / (1 + alike)
