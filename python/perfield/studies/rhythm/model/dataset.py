# SPDX-License-Identifier: BSD-3-Clause
"""The one form of phases: a Dataset, whether a model or a run gave them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from perfield.studies.rhythm.model.topology import Topology

MODEL, RUN = "model", "run"
TURN = 2 * np.pi
"""A step (period) in rad."""


def phase_dataset(
    phase: np.ndarray,
    times: np.ndarray,
    edges: Topology | None = None,
    *,
    source: str = MODEL,
    oscillators: np.ndarray | None = None,
) -> xr.Dataset:
    """A Dataset of phases.

    `phase` : float64 (oscillator, time), rad, unwrapped: 2 pi is one step; NaN where unknown. `receiver`,
    `sender`, `weight` (edge) : the communication topology, where known. Coordinates: `oscillator` (the
    rank), `time` in s. Attribute `source` : "model" or "run".
    """
    about = {"units": "rad", "long_name": "phase: 2 pi times steps completed"}
    variables = {"phase": (("oscillator", "time"), phase, about)}
    ranks = np.arange(len(phase)) if oscillators is None else oscillators
    coordinates = {
        "oscillator": ("oscillator", ranks, {"long_name": "rank"}),
        "time": ("time", np.asarray(times, float), {"units": "s"}),
    }
    found = xr.Dataset(variables, coordinates, {"source": source})
    return found if edges is None else with_edges(found, edges)


def with_edges(phases: xr.Dataset, edges: Topology) -> xr.Dataset:
    """A Dataset of phases with its communication topology: `receiver`, `sender` and `weight` (edge)."""
    return phases.assign(
        receiver=("edge", edges.receiver, {"long_name": "rank that receives"}),
        sender=("edge", edges.sender, {"long_name": "rank that it receives from"}),
        weight=("edge", edges.weight, {"long_name": "T_ij"}),
    )
