# SPDX-License-Identifier: BSD-3-Clause
"""Phases in blocks of time, so that a metric's memory does not grow with the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
import xarray as xr

from perfield.studies.rhythm.model.errors import RhythmError

BLOCK = 2**20
"""Numbers in a block: 8 MiB in float64."""


class Edges(Protocol):
    """Who receives from whom: a `Topology`, or the Dataset of `phase_dataset` that holds one.

    receiver, sender : int (n_edges,), positions along `oscillator`. weight : float (n_edges,), T_ij.
    """

    receiver: np.ndarray
    sender: np.ndarray
    weight: np.ndarray


def checked(phase: xr.DataArray) -> xr.DataArray:
    """Phases as (oscillator, time), as a view; those of one instant get a dimension `time` of length 1.

    Raises RhythmError if the dimensions are others, or if there is no oscillator or no instant.
    """
    if "oscillator" not in phase.dims or not set(phase.dims) <= {"oscillator", "time"}:
        given = ", ".join(map(str, phase.dims)) or "none"
        raise RhythmError(
            f"the phases have the dimensions ({given}); expected (oscillator, time): pass `phase` of"
            " a Dataset that phase_dataset made."
        )
    if "time" not in phase.dims:
        phase = phase.drop_vars("time", errors="ignore").expand_dims("time")
    if not phase.size:
        raise RhythmError(
            f"the phases hold {phase.sizes['oscillator']} oscillators at {phase.sizes['time']} instants;"
            " expected at least one of each."
        )
    return phase.transpose("oscillator", "time")


def blocks(phase: xr.DataArray, rows: int | None = None) -> Iterator[tuple[slice, np.ndarray]]:
    """Cuts checked phases into blocks of time: (which instants, float64 (oscillator, n)).

    rows : how many numbers the metric makes of each instant, if more than there are oscillators.
    """
    width = max(1, BLOCK // max(phase.sizes["oscillator"], rows or 1))
    for begin in range(0, phase.sizes["time"], width):
        part = slice(begin, begin + width)
        yield part, np.asarray(phase[:, part].values, float)


def over_time(
    phase: xr.DataArray, metric: Callable[[np.ndarray], np.ndarray], name: str, units: str, long_name: str
) -> xr.DataArray:
    """A metric of each instant: `metric` takes (oscillator, n) and returns (n,)."""
    whole = checked(phase)
    values = np.empty(whole.sizes["time"])
    for part, block in blocks(whole):
        values[part] = metric(block)
    return series(phase, values, name, units, long_name)


def series(phase: xr.DataArray, values: np.ndarray, name: str, units: str, long_name: str) -> xr.DataArray:
    """Values of each instant of phases as a DataArray (time); without dimension for phases of one instant."""
    about = {"units": units, "long_name": long_name}
    times = {"time": phase["time"]} if "time" in phase.coords else {}
    if "time" not in phase.dims:
        return xr.DataArray(values[0], times, (), name, about)
    return xr.DataArray(values, times, ("time",), name, about)


def instant(phase: xr.DataArray, at: float | None = None) -> xr.DataArray:
    """The phases (oscillator) of the instant nearest to `at` (s); of the last one if `at` is None."""
    if "time" not in phase.dims:
        checked(phase)
        return phase
    whole = checked(phase)
    return whole.isel(time=-1) if at is None else whole.sel(time=at, method="nearest")


def edge_arrays(edges: Edges, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Receiver, sender (int64) and weight (float64) of each edge between `n` oscillators.

    Raises RhythmError if an edge names an oscillator that is not there.
    """
    receiver, sender = np.asarray(edges.receiver, np.int64), np.asarray(edges.sender, np.int64)
    for ends in (receiver, sender):
        if len(ends) and not 0 <= ends.min() <= ends.max() < n:
            raise RhythmError(
                f"the communication topology names oscillators {ends.min()} to {ends.max()}, but there are"
                f" phases of 0 to {n - 1}; take both from the same model or run."
            )
    return receiver, sender, np.asarray(edges.weight, float)


def few_enough(count: int, most: int, what: str, instead: str) -> None:
    """Raises RhythmError if a metric would make more than `most` numbers, and names what to use instead."""
    if count > most:
        raise RhythmError(f"{what} would be {count:,} numbers, more than {most:,}; {instead}.")


def enough_bins(bins: int | None) -> None:
    """Raises RhythmError unless `bins` is None or a whole number above 0."""
    if bins is not None and (int(bins) != bins or bins < 1):
        raise RhythmError(f"bins = {bins}; expected a whole number above 0, or None for bins that adapt.")


def ranks_of(phase: xr.DataArray) -> np.ndarray:
    """The number of each oscillator: its coordinate, or where there is none its position."""
    if "oscillator" in phase.coords:
        return phase["oscillator"].values
    return np.arange(phase.sizes["oscillator"])


def by_offset(n: int, offsets: Sequence[int] | None) -> tuple[np.ndarray, np.ndarray]:
    """Pairs i, j with j < i, int64 (n_pairs,): all of them, or those with i - j among `offsets` (> 0)."""
    if offsets is None:
        return np.tril_indices(n, -1)
    if any(int(offset) != offset or not offset > 0 for offset in offsets):
        raise RhythmError(f"offsets = {tuple(offsets)}; expected whole numbers above 0, such as (1, 2).")
    i = [np.arange(offset, n) for offset in offsets]
    j = [np.arange(0, max(n - offset, 0)) for offset in offsets]
    return (np.concatenate(i), np.concatenate(j)) if i else (np.empty(0, int), np.empty(0, int))
