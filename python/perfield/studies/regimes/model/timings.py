# SPDX-License-Identifier: BSD-3-Clause
"""Timings by rank and step: the form that all analyses of regimes take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from perfield.studies.regimes.model.errors import RegimeError

TIME, REGIME, PROBABILITY = "time_s", "regime", "probability"
STEP_TIME = "step_time_s"  # the field that is timed unless another one is named
UNKNOWN = -1  # the regime of a point without a time


def timings(
    time_s: Any, rank: Sequence[int] | None = None, step: Sequence[int] | None = None, name: str = "time"
) -> xr.Dataset:
    """Timings as a Dataset: `time_s` (rank, step) in seconds, NaN where unknown.

    time_s : (n_ranks, n_steps), or (n_steps) of one series; a dask array stays one. Infinite is unknown.
    rank, step : their numbers, from 0 if not given.
    name : what was timed, for messages and titles; an attribute of `time_s`.
    Classified timings have also `regime` (rank, step), int8, from 0 for the fastest, UNKNOWN where there is
    no time; `probability` (rank, step), the posterior probability of that regime; and the attribute `model`,
    a Model as JSON. Where frames add up several steps, `span` (step) is how many; a time is that of one.
    Raises RegimeError for other shapes.
    """
    is_lazy = hasattr(time_s, "dask")
    values = time_s.astype(np.float64) if is_lazy else np.asarray(time_s, dtype=np.float64)
    values = values[np.newaxis] if values.ndim == 1 else values
    if is_lazy or np.isinf(values).any():
        values = np.where(np.isinf(values), np.nan, values)
    if values.ndim != 2:
        raise RegimeError(f"timings have {values.ndim} dimensions; expected (rank, step) or (step).")
    ranks = np.arange(values.shape[0]) if rank is None else np.asarray(rank)
    steps = np.arange(values.shape[1]) if step is None else np.asarray(step)
    if (len(ranks), len(steps)) != values.shape:
        raise RegimeError(
            f"timings are {values.shape[0]} x {values.shape[1]}, but {len(ranks)} ranks and {len(steps)} "
            "steps are named; give one number per row and column."
        )
    of_time = {"units": "s", "long_name": name}
    return xr.Dataset({TIME: (("rank", "step"), values, of_time)}, {"rank": ranks, "step": steps})


def known_points(times: xr.Dataset, regime: int | None = None) -> np.ndarray:
    """Which times are known, bool as `time_s`; of one regime, if its number is given.

    Raises RegimeError if a regime is given and the timings are not classified.
    """
    known = np.isfinite(times[TIME].values)
    if regime is None:
        return known
    if REGIME not in times:
        raise RegimeError(f"regime {regime} is given, but the timings are not classified; classify them.")
    return known & (times[REGIME].values == regime)


def largest(times: xr.Dataset) -> xr.Dataset:
    """The longest time of any rank in each step (the paper's T_k^max, remark 1), as timings of one row.

    Its rank is -1. Steps that no rank knows stay NaN.
    """
    known = times[TIME].where(np.isfinite(times[TIME]))
    series = known.max("rank", skipna=True).values
    name = f"longest {times[TIME].attrs.get('long_name', 'time')}"
    found = timings(series, [-1], times["step"].values, name)
    return found.assign_coords(span=times["span"]) if "span" in times.coords else found
