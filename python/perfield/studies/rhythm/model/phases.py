# SPDX-License-Identifier: BSD-3-Clause
"""Phases of a run's ranks, from the begin and end of their steps on one clock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from perfield.studies.rhythm.model.dataset import RUN, TURN, phase_dataset
from perfield.studies.rhythm.model.errors import RhythmError

_RANKS_AT_ONCE = 64  # their stamps are copied so that those of one rank lie together


def phases(steps: xr.Dataset, times: np.ndarray | None = None, *, samples: int | None = None) -> xr.Dataset:
    """Phases of ranks: 2 pi times (steps completed + the fraction of the current step).

    steps : `run.steps`, or those of `closed_steps(run)`. It needs begin_s and end_s (step, rank), s
    on one clock; `step` is the number of an entry's last step, and `span` (step, or step and rank), 1 if
    absent, how many steps the entry adds up. clock_uncertainty_s (rank, or step and rank) is used where it
    is there.
    times : s on that clock, ascending. By default `samples` times, or as many as the steps, at equal
    distances from the first rank's first begin to the last rank's last end.

    Inside a step, or an entry of several steps, the phase grows evenly. Between two consecutive steps it does
    not advance: the program or perfield did something else. It is NaN before a rank's first step, after its
    last, and between two known steps if a step between them is missing.

    Returns a Dataset in the form of `phase_dataset`, with two more variables of dimension oscillator:
    period_s, the median time from the end of one step to the next; and phase_uncertainty, rad, what the
    error of the rank's clock makes of its phase (NaN: unknown).
    Raises RhythmError if no rank has two steps, or if `times` do not ascend.
    """
    begin, end = (np.asarray(steps[name].transpose("step", "rank").values) for name in ("begin_s", "end_s"))
    last = steps["step"].values.astype(np.float64) + 1.0
    span = steps["span"] if "span" in steps else xr.DataArray(1)
    span = span.broadcast_like(steps["begin_s"]).transpose("step", "rank").values
    known = np.isfinite(begin) & (begin <= end)
    _check(known, span)
    if times is None:
        since, until = begin.min(where=known, initial=np.inf), end.max(where=known, initial=-np.inf)
        if since == until:
            raise RhythmError(
                f"all steps begin and end at {since} s; take another run, as these times are damaged."
            )
        times = np.linspace(since, until, samples or len(begin))
    times = np.asarray(times, dtype=np.float64)
    if times.ndim != 1 or not len(times) or not (np.diff(times) > 0).all():
        raise RhythmError("the times of phases do not ascend; give a list of seconds, each above the last.")
    phase = np.full((begin.shape[1], len(times)), np.nan)
    period = np.full(begin.shape[1], np.nan)
    for rank, is_known, begins, ends in _of_ranks(known, begin, end):
        here = np.flatnonzero(is_known)
        if len(here):
            first = last[here] - span[here, rank]
            stamps, levels = _knots(begins[here], ends[here], first, last[here])
            phase[rank] = _between_knots(times, stamps, levels)
            period[rank] = _period(stamps, levels)
    phase *= TURN
    found = phase_dataset(phase, times, source=RUN, oscillators=steps["rank"].values)
    uncertainty = TURN * _clock_uncertainty(steps)
    unknown = np.full(len(period), np.nan)  # where a clock that jumped back leaves no time for steps
    about = {"units": "s", "long_name": "median time from the end of a step to that of the next"}
    found["period_s"] = "oscillator", period, about
    about = {"units": "rad", "long_name": "largest error of the phase, from the error of the rank's clock"}
    found["phase_uncertainty"] = (
        "oscillator",
        np.divide(uncertainty, period, out=unknown, where=period > 0),
        about,
    )
    return found


def _check(known: np.ndarray, spans: np.ndarray) -> None:
    """Raises RhythmError if no rank did two steps."""
    most = int((known * spans).sum(axis=0).max(initial=0))
    if most < 2:
        raise RhythmError(
            f"there is {'one step' if most else 'no step with known times'}, and a rhythm needs at least "
            "two; measure more steps, or choose more (`perfield steps RUN` lists calls that could "
            "close them)."
        )


def _of_ranks(*arrays: np.ndarray) -> Iterator[tuple]:
    """(rank, its column of each array), each column contiguous."""
    n_ranks = arrays[0].shape[1]
    for start in range(0, n_ranks, _RANKS_AT_ONCE):
        here = slice(start, min(start + _RANKS_AT_ONCE, n_ranks))
        columns = [np.ascontiguousarray(array[:, here].T) for array in arrays]
        yield from zip(range(here.start, here.stop), *columns)


def _knots(
    begins: np.ndarray, ends: np.ndarray, first: np.ndarray, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Times at which a rank's steps begin and end, and the steps completed by then."""
    stamps = np.stack([begins, ends], axis=1).ravel()
    np.maximum.accumulate(stamps, out=stamps)  # rounding may put a begin before the end before it
    return stamps, np.stack([first, last], axis=1).ravel()


def _between_knots(times: np.ndarray, stamps: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Steps completed at `times`; NaN outside the knots and where a step is missing."""
    found = np.interp(times, stamps, levels, left=np.nan, right=np.nan)
    for gap in np.flatnonzero(levels[2::2] > levels[1:-1:2]):
        left, right = stamps[2 * gap + 1], stamps[2 * gap + 2]
        found[np.searchsorted(times, left, "right") : np.searchsorted(times, right, "left")] = np.nan
    return found


def _period(stamps: np.ndarray, levels: np.ndarray) -> float:
    """Median time from one end to the next, for one step, s; the step's own time where there is only one."""
    if len(stamps) == 2:
        return float((stamps[1] - stamps[0]) / (levels[1] - levels[0]))
    return float(np.median(np.diff(stamps[1::2]) / np.diff(levels[1::2])))


def _clock_uncertainty(steps: xr.Dataset) -> np.ndarray:
    """(rank,) s, the largest error of each rank's clock; NaN where unknown."""
    if "clock_uncertainty_s" not in steps:
        return np.full(steps.sizes["rank"], np.nan)
    uncertainty = steps["clock_uncertainty_s"]
    if "step" not in uncertainty.dims:
        return uncertainty.values
    return np.fmax.reduce(uncertainty.transpose("step", "rank").values, axis=0)
