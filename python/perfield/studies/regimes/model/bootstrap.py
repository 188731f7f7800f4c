# SPDX-License-Identifier: BSD-3-Clause
"""Confidence intervals of what neighbouring steps make alike: the circular block bootstrap.

Steps of a regime follow one another, so they hold less information than independent ones. Blocks
of steps keep that likeness, and all ranks are drawn together, so likeness between ranks is kept, too.
Politis, Romano, "A circular block-resampling procedure for stationary data", 1992.
"""

from __future__ import annotations

import numpy as np

from perfield.studies.regimes.model.errors import RegimeError
from perfield.text import counted

N_RESAMPLES = 1000
LEVEL = 0.95
FEWEST_STEPS = 8
_NUMBERS_AT_ONCE = 2**24  # of counts of blocks, in memory


def block_length(series: np.ndarray) -> int:
    """The length of blocks, in steps, that suits a series: Politis and White, "Automatic block-length
    selection for the dependent bootstrap", 2004, with the correction of Patton, Politis and White, 2009.

    series : float64 (n_steps,); NaN counts as the mean. Returns at least 1, at most a third of the steps.
    Raises RegimeError for fewer than 8 steps.
    """
    values = np.asarray(series, dtype=np.float64)
    n = len(values)
    if n < FEWEST_STEPS:
        raise RegimeError(
            f"{counted(n, 'step')} {'is' if n == 1 else 'are'} too few for confidence intervals; give at "
            f"least {FEWEST_STEPS}."
        )
    apart = np.nan_to_num(values - (np.nanmean(values) if np.isfinite(values).any() else 0.0))
    power = np.abs(np.fft.rfft(apart, 2 * n)) ** 2
    covariance = np.fft.irfft(power)[:n] / n
    if covariance[0] <= 0:
        return 1
    alike = np.abs(covariance / covariance[0])
    n_quiet = max(5, int(np.ceil(np.sqrt(np.log10(n)))))
    most = min(int(np.ceil(np.sqrt(n))) + n_quiet, n - 1)
    is_loud = alike[1 : most + 1] > 2 * np.sqrt(np.log10(n) / n)
    loud = np.flatnonzero(is_loud) + 1
    if not len(loud):
        return 1
    # The last lag before a quiet stretch; the last loud one where there is none.
    ends = [lag for lag in loud if not is_loud[lag : lag + n_quiet].any() and lag + n_quiet <= most]
    widest = min(2 * int(ends[0] if ends else loud[-1]), most)
    lag = np.arange(1, widest + 1)
    weight = np.clip(2 * (1 - lag / widest), 0, 1)
    spectrum = covariance[0] + 2 * float((weight * covariance[lag]).sum())
    slope = 2 * float((weight * lag * covariance[lag]).sum())
    if spectrum <= 0:
        return 1
    best = (2 * slope**2 / (4 / 3 * spectrum**2)) ** (1 / 3) * n ** (1 / 3)
    return int(np.clip(round(best), 1, min(np.ceil(3 * np.sqrt(n)), n // 3)))


def resampled_sums(
    per_step: np.ndarray, length: int, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> np.ndarray:
    """Sums over the steps of series that are put together from blocks of the given one.

    per_step : (n_steps, n_sums), what each step adds to each sum. length : of the blocks, in steps.
    Returns float64 (n_resamples, n_sums); each is the sum over n_steps steps. The same seed gives the same.
    """
    values = np.asarray(per_step, dtype=np.float64)
    n, n_sums = values.shape
    length = min(length, n)
    middle = values.mean(axis=0)  # sums of what is apart from it lose no digits
    reach = np.zeros((2 * n + 1, n_sums))
    np.cumsum(np.concatenate([values - middle] * 2), axis=0, out=reach[1:])
    n_blocks, rest = divmod(n, length)
    whole, part = (reach[size : size + n] - reach[:n] for size in (length, rest))
    random = np.random.default_rng(seed)
    found = np.empty((n_resamples, n_sums))
    at_once = max(_NUMBERS_AT_ONCE // n, 1)
    for begin in range(0, n_resamples, at_once):
        here = slice(begin, min(begin + at_once, n_resamples))
        rows = np.arange(here.stop - here.start)
        starts = random.integers(n, size=(len(rows), n_blocks)) + n * rows[:, np.newaxis]
        counts = np.bincount(starts.ravel(), minlength=n * len(rows)).reshape(len(rows), n)
        found[here] = counts @ whole + part[random.integers(n, size=len(rows))]
    return found + n * middle


def interval(resampled: np.ndarray, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the interval that holds a share `level` of resampled values (n_resamples, ...).

    NaN counts for nothing, and gives NaN where nothing is known.
    """
    values = np.sort(np.asarray(resampled, dtype=np.float64), axis=0)  # NaN comes last
    n = np.isfinite(values).sum(axis=0) + np.isposinf(values).sum(axis=0)
    ends = []
    for share in ((1 - level) / 2, (1 + level) / 2):
        at = np.clip(np.rint(share * (n - 1)), 0, None).astype(np.int64)
        ends.append(np.take_along_axis(values, at[np.newaxis], axis=0)[0])
    return ends[0], ends[1]
