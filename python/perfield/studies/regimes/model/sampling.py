# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks a model is fitted to, and whether their times can carry one."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.studies.regimes.model.errors import RegimeError
from perfield.studies.regimes.model.timings import TIME
from perfield.text import counted

MIN_STEPS_PER_REGIME = 50  # of a rank
MIN_TIMES = 500  # of all sampled ranks
ALIKE = 1e-9  # a series whose range is this small beside its median is constant


def known(values: np.ndarray) -> np.ndarray:
    """Times as floats, NaN where they are not finite or not above 0."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def row_medians(values: np.ndarray) -> np.ndarray:
    """The median of what is known of each row, as a column; NaN for a row without any."""
    found = [np.median(row[np.isfinite(row)]) if np.isfinite(row).any() else np.nan for row in known(values)]
    return np.array(found, dtype=np.float64).reshape(-1, 1)


def sampled(times: xr.Dataset, n_sampled: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Ranks that represent all: evenly spaced in the order of their medians (the paper's Algorithm 1).

    Returns their numbers, their times (n_sampled, n_steps) with NaN where unknown, and sentences about what
    is unknown. Ranks without a time are left out. Raises RegimeError if no rank has one.
    """
    data = times[TIME].transpose("rank", "step").data
    if hasattr(data, "dask"):
        data = data.rechunk({1: -1})
        median = data.map_blocks(row_medians, dtype=np.float64, chunks=(data.chunks[0], (1,))).compute()
    else:
        median = row_medians(data)
    median = median[:, 0]
    order = np.argsort(median, kind="stable")[: np.isfinite(median).sum()]
    if not len(order):
        name = times[TIME].attrs.get("long_name", "time")
        raise RegimeError(
            f"{name} has no value above 0 in {data.shape[0]} ranks x {data.shape[1]} steps; choose another "
            "field or other steps."
        )
    chosen = order[np.unique(np.round(np.linspace(0, len(order) - 1, n_sampled)).astype(np.int64))]
    rows = np.asarray(data[np.sort(chosen)], dtype=np.float64)
    values = known(rows)
    return times["rank"].values[np.sort(chosen)], values, of_unknown(rows)


def of_unknown(rows: np.ndarray) -> tuple[str, ...]:
    """Sentences about the times that count as unknown."""
    notes = []
    negative, zero = int((rows < 0).sum()), int((rows == 0).sum())
    missing = int((~np.isfinite(rows)).sum())
    for count, what in ((negative, "negative"), (zero, "0"), (missing, "missing or not finite")):
        if count:
            notes.append(
                f"{count} of {rows.size} sampled times {'is' if count == 1 else 'are'} {what}; such a time "
                "belongs to no regime and splits its series."
            )
    return tuple(notes)


def check_enough(values: np.ndarray, n_regimes: int) -> None:
    """Raises RegimeError if sampled times are too few for so many regimes."""
    per_rank = np.isfinite(values).sum(axis=1)
    if per_rank.max() < MIN_STEPS_PER_REGIME * n_regimes or per_rank.sum() < MIN_TIMES:
        fewer = ", or ask for fewer regimes" if n_regimes > 1 else ""
        raise RegimeError(
            f"{counted(int(per_rank.sum()), 'known time')} in {counted(len(values), 'rank')}, at most "
            f"{per_rank.max()} of one rank, are too few for {counted(n_regimes, 'regime')}; expected "
            f"{MIN_TIMES} in all and {MIN_STEPS_PER_REGIME * n_regimes} of a rank: measure more steps{fewer}."
        )


def longest_row(values: np.ndarray) -> int:
    """How many times are known of the rank with the most."""
    return int(np.isfinite(values).sum(axis=1).max())


def is_constant(values: np.ndarray) -> bool:
    """Whether all known times are the same, but for rounding."""
    low, high = np.nanmin(values), np.nanmax(values)
    return bool(high - low <= ALIKE * np.nanmedian(values))


def resolution(values: np.ndarray) -> tuple[float, bool]:
    """The least scale of a state, and whether that is the tick of a coarse clock.

    values : as the states see them, seconds or their logarithms. A clock that ticks coarsely gives the same
    times again and again. A state of one tick would have no width, and any likelihood; its least scale is
    that of times spread evenly within a tick. Otherwise it is a millionth of the spread of all.
    """
    some = values[np.isfinite(values)]
    different = np.unique(some)
    least = 1e-6 * float(np.std(some))
    if len(different) >= len(some) / 10:
        return least, False
    return max(least, float(np.median(np.diff(different))) / np.sqrt(12)), True
