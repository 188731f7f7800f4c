# SPDX-License-Identifier: BSD-3-Clause
"""The laws of strong and weak scaling, fitted to times on different numbers of ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from perfield.analysis.distributions import student_quantile

STRONG, WEAK = "strong", "weak"
LAWS = {STRONG: "Amdahl's law", WEAK: "Gustafson's law"}
CONFIDENCE = 0.95
LEAST_SIZES = 3  # different numbers of ranks
MOST_MISFIT, WIDEST = 0.1, 0.5  # of a fit that describes the times, and of its interval
_EXACT = 1e-18  # squared relative error of times that are as exact as float64


class ScalingError(ValueError):
    """Runs do not show how a program scales; the text says why and what to do."""


@dataclass(frozen=True)
class Fit:
    """The law of strong or weak scaling that comes nearest to the times.

    serial_share : 0 to 1, the part of the time on one rank that more ranks do not shorten. low, high : its
    95 % confidence interval. one_rank_s : s, the fitted time on one rank. misfit : the root mean square of
    the relative distance between times and law.
    """

    serial_share: float
    low: float
    high: float
    one_rank_s: float
    misfit: float

    @property
    def holds(self) -> bool:
        """Whether the law describes the times: it misses them by at most 10 %, and they determine the serial
        share to within 0.5."""
        return self.misfit <= MOST_MISFIT and self.high - self.low <= WIDEST


@dataclass(frozen=True)
class Curve:
    """Times over numbers of ranks. All arrays are (n_sizes,), in ascending order of ranks.

    n_ranks, n_runs : the numbers of ranks, and of runs with that many. time_s : s, the geometric mean of
    these runs. speedup : against the fewest ranks; weak scaling: of the work, which grows with the ranks.
    ideal : the speed-up of perfect scaling. efficiency : speedup / ideal. *_low, *_high : 95 % confidence
    intervals from the scatter of repeated runs; NaN without any. fit : None if `no_fit` says why there is
    none.
    """

    n_ranks: np.ndarray
    n_runs: np.ndarray
    time_s: np.ndarray
    time_low_s: np.ndarray
    time_high_s: np.ndarray
    speedup: np.ndarray
    speedup_low: np.ndarray
    speedup_high: np.ndarray
    ideal: np.ndarray
    efficiency: np.ndarray
    fit: Fit | None
    no_fit: str = ""


def strong_time(n_ranks: np.ndarray, serial_share: float) -> np.ndarray:
    """Time on n ranks over the time on one, for a problem of fixed size: s + (1 - s) / n.

    Source: Amdahl, "Validity of the single processor approach to achieving large scale computing
    capabilities", AFIPS 1967; the thesis, section 2.2.1: speedup = 1 / (s + p / N).
    """
    return serial_share + (1.0 - serial_share) / np.asarray(n_ranks, float)


def weak_time(n_ranks: np.ndarray, serial_share: float) -> np.ndarray:
    """Time on n ranks over the time on one, for a problem that grows with the ranks: n / (s + (1 - s) n).

    Source: Gustafson, "Reevaluating Amdahl's law", CACM 31(5), 1988; the thesis, section 2.2.1: speedup = s +
    p N, where the speed-up of the work is n times the time on one rank over that on n.
    """
    n_ranks = np.asarray(n_ranks, float)
    return n_ranks / (serial_share + (1.0 - serial_share) * n_ranks)


TIMES: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {STRONG: strong_time, WEAK: weak_time}


def fit(n_ranks: np.ndarray, time_s: np.ndarray, kind: str) -> Fit:
    """Fits the serial share and the time on one rank by least squares of relative errors.

    n_ranks : (n_runs,), at least three different numbers. time_s : (n_runs,) s, > 0. kind : STRONG or WEAK.
    The interval holds all shares whose squared errors an F test cannot distinguish from the least ones; it
    stays within 0 to 1, and also counts that the law itself may not hold.
    Raises ScalingError with fewer numbers of ranks.
    """
    from scipy.optimize import brentq, curve_fit

    n_ranks, logs = np.asarray(n_ranks, float), np.log(np.asarray(time_s, float))
    sizes = len(np.unique(n_ranks))
    if sizes < LEAST_SIZES:
        raise ScalingError(
            f"{sizes} numbers of ranks are no fit, as a law with two unknowns passes through any two times; "
            f"measure at least {LEAST_SIZES} numbers of ranks."
        )

    def law(n: np.ndarray, share: float, log_one_rank: float) -> np.ndarray:
        return log_one_rank + np.log(TIMES[kind](n, share))

    def errors(share: float) -> float:
        apart = logs - law(n_ranks, share, 0.0)
        return float(((apart - apart.mean()) ** 2).sum())

    grid = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 61)])
    begin = grid[np.argmin([errors(share) for share in grid])]
    bounds = ([0.0, -np.inf], [1.0, np.inf])
    (share, _), _ = curve_fit(
        law, n_ranks, logs, p0=(begin, logs.max()), bounds=bounds, xtol=1e-12, ftol=1e-14, gtol=1e-12
    )
    share = min((begin, share), key=errors)
    free = len(logs) - 2
    least = max(errors(share), _EXACT * len(logs))
    limit = least * (1.0 + student_quantile((1 - CONFIDENCE) / 2, free) ** 2 / free)

    def beyond(at: float) -> float:
        return errors(at) - limit

    low = brentq(beyond, 0.0, share) if share > 0 and beyond(0.0) > 0 else 0.0
    high = brentq(beyond, share, 1.0) if share < 1 and beyond(1.0) > 0 else 1.0
    one_rank = float(np.exp((logs - law(n_ranks, share, 0.0)).mean()))
    return Fit(float(share), float(low), float(high), one_rank, float(np.sqrt(errors(share) / len(logs))))


def curve(n_ranks: np.ndarray, time_s: np.ndarray, kind: str) -> Curve:
    """Speed-up, efficiency and fitted serial share of runs.

    n_ranks : (n_runs,). time_s : (n_runs,) s; NaN or 0 where unknown, which leaves the run out. kind : STRONG
    or WEAK. The speed-up is T1 / TN, the efficiency the speed-up per rank (thesis, section 2.2.1), with the
    fewest ranks for one. Intervals take the scatter of repeated runs as the same share of the time for all
    numbers of ranks.
    Raises ScalingError without two different numbers of ranks.
    """
    n_ranks, time_s = np.asarray(n_ranks, np.int64), np.asarray(time_s, float)
    known = np.isfinite(time_s) & (time_s > 0)
    sizes, group = np.unique(n_ranks[known], return_inverse=True)
    if len(sizes) < 2:
        raise ScalingError(f"times are known for {len(sizes)} number of ranks; expected two different ones.")
    logs, n_runs = np.log(time_s[known]), np.bincount(group)
    means = np.bincount(group, logs) / n_runs
    free = len(logs) - len(sizes)
    spread = np.sqrt(((logs - means[group]) ** 2).sum() / free) if free else np.nan
    width = spread * (student_quantile((1 - CONFIDENCE) / 2, free) if free else np.nan)
    of_time = width / np.sqrt(n_runs)
    ideal = sizes / sizes[0]
    gained = means[0] - means + (np.log(ideal) if kind == WEAK else 0.0)
    of_speedup = width * np.sqrt(1 / n_runs[0] + 1 / n_runs)
    of_speedup[0] = 0.0 if free else np.nan  # 1 by definition
    fitted, no_fit = None, ""
    try:
        fitted = fit(n_ranks[known], time_s[known], kind)
    except ScalingError as error:
        no_fit = str(error)
    return Curve(
        n_ranks=sizes,
        n_runs=n_runs,
        time_s=np.exp(means),
        time_low_s=np.exp(means - of_time),
        time_high_s=np.exp(means + of_time),
        speedup=np.exp(gained),
        speedup_low=np.exp(gained - of_speedup),
        speedup_high=np.exp(gained + of_speedup),
        ideal=ideal,
        efficiency=np.exp(gained) / ideal,
        fit=fitted,
        no_fit=no_fit,
    )
