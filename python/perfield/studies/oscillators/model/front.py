# SPDX-License-Identifier: BSD-3-Clause
"""How a perturbation of one or a few oscillators travels: when it arrives where, and how fast it moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.sparse.csgraph import dijkstra

from perfield.studies.oscillators.model.model import Model
from perfield.studies.rhythm.model.errors import ModelError
from perfield.studies.rhythm.model.topology import Topology

LEVELS = (0.5, 0.01)


@dataclass(frozen=True)
class Front:
    """Where and when `level` of a perturbation has arrived.

    distance : messages from the perturbed oscillators (n,), NaN where none leads. arrival : s (n,), NaN where
    it never comes. speed : oscillators/s, the slope of distance over arrival among the middle of those
    reached. exponent : of arrival ~ distance^exponent there: 1 for a wave, 2 for diffusion. Both are NaN with
    fewer than 4 distances reached.
    """

    level: float
    distance: np.ndarray
    arrival: np.ndarray
    speed: float
    exponent: float

    @property
    def reached(self) -> int:
        """The largest distance at which it has arrived; 0 if nowhere."""
        there = np.isfinite(self.arrival) & np.isfinite(self.distance)
        return int(self.distance[there].max(initial=0))


def perturbed_ranks(initial: np.ndarray) -> np.ndarray:
    """The oscillators that do not start where most others do, int64; [] if there is no such majority."""
    values, count = np.unique(initial, return_counts=True)
    if 2 * count.max() <= len(initial):
        return np.zeros(0, np.int64)
    return np.flatnonzero(initial != values[count.argmax()])


def front(
    phase: xr.DataArray, model: Model, level: float = 0.5, *, unperturbed: xr.DataArray | None = None
) -> Front:
    """The front of a perturbation in a model's phases (oscillator, time); the first instant counts.

    level : between 0 and 1, the share of the perturbation (of the largest) that counts as its arrival.
    unperturbed : phases of the same model, seed and times without the perturbation; deviations from them
    count. Without it all must go at one constant frequency, without noise. Raises ModelError if they do not,
    and unless most oscillators start at the same phase.
    """
    if not 0 < level < 1:
        raise ModelError(
            f"level = {level:g} is not a share of a perturbation; give more than 0, less than 1."
        )
    values = phase.transpose("oscillator", "time").values
    times = phase["time"].values
    sources = perturbed_ranks(values[:, 0])
    if not len(sources):
        raise ModelError("no oscillators start apart from a majority, so no front starts; perturb a few.")
    if unperturbed is None and not is_uniform(model):
        raise ModelError(
            "a front needs one constant frequency of all oscillators and no noise; else give the phases of "
            "an unperturbed model of the same seed."
        )
    rest = np.setdiff1d(np.arange(len(values)), sources)
    size = values[sources, 0] - values[rest[0], 0]
    size = size[np.abs(size).argmax()]
    if unperturbed is None:
        free = values[:, :1] + float(np.mean(model.frequency)) * (times - times[0])
        free[sources] += values[rest[0], 0] - values[sources, :1]
    else:
        free = unperturbed.transpose("oscillator", "time").values
    moved = (values - free) / size
    there = moved >= level
    first = there.argmax(axis=1)
    arrival = np.full(len(values), np.nan)
    for rank in np.flatnonzero(there.any(axis=1)):
        at = first[rank]
        if at:
            before, after = moved[rank, at - 1], moved[rank, at]
            arrival[rank] = times[at - 1] + (level - before) / (after - before) * (times[at] - times[at - 1])
    arrival[sources] = np.nan
    distance = hops(model.topology, sources)
    return Front(level, distance, arrival, *_line(distance, arrival))


def is_uniform(model: Model) -> bool:
    """Whether all oscillators go at one constant frequency, without noise and stops."""
    same = not callable(model.frequency) and not np.ptp(model.frequency)
    return bool(same and model.noise is None and not model.stops)


def hops(of: Topology, sources: np.ndarray) -> np.ndarray:
    """Fewest messages from any of `sources` to each rank, float (n,); NaN where none leads."""
    found = dijkstra(of.matrix.T, unweighted=True, indices=sources, min_only=True)
    return np.where(np.isfinite(found), found, np.nan)


def _line(distance: np.ndarray, arrival: np.ndarray) -> tuple[float, float]:
    known = np.isfinite(arrival) & (distance > 0)
    far = distance[known].max(initial=0)
    # ends differ: the first ranks see the whole step at once, the last ones have no successor
    known &= (distance >= np.ceil(0.2 * far)) & (distance <= 0.8 * far)
    if len(np.unique(distance[known])) < 4:
        return np.nan, np.nan
    slope = np.polyfit(distance[known], arrival[known], 1)[0]
    exponent = np.polyfit(np.log(distance[known]), np.log(arrival[known]), 1)[0]
    return (float(1 / slope) if slope > 0 else np.nan), float(exponent)
