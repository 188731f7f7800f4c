# SPDX-License-Identifier: BSD-3-Clause
"""The potential of a state (eq. 14), and the Lyapunov function, which falls while ranks settle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import xarray as xr

from perfield.studies.rhythm.model.blocks import Edges, blocks, checked, edge_arrays, series
from perfield.studies.rhythm.model.order import rate


class Pull(Protocol):
    """V(x) of each edge and its integral from 0 to x; x : rad (n_edges, n), unwrapped."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """V(x), of the shape of x."""

    def integral(self, x: np.ndarray) -> np.ndarray:
        """The integral of V from 0 to x."""


def potential(phase: xr.DataArray, edges: Edges, pull: Callable[[np.ndarray], np.ndarray]) -> xr.DataArray:
    """V(t) = sum_ij T_ij V(theta_j - theta_i)^2, of dimension time, without unit (eq. 14), unwrapped.

    It is 0 where nobody pulls: in a locked state without frustration. It is not an energy: it may rise before
    it falls, and frustrated states keep it. NaN where the phase of an edge's rank is unknown.
    """
    return over_edges(phase, edges, lambda x: pull(x) ** 2, "potential", "V(t)")


def lyapunov(phase: xr.DataArray, edges: Edges, pull: Pull) -> xr.DataArray:
    """U(t) = sum_ij T_ij (integral of V from 0 to theta_j - theta_i), of dimension time, in rad.

    For a symmetric topology and equal frequencies U never rises: dU/dt = -2/c sum_i (theta_i' - omega)^2,
    where c is the strength of the coupling. For others it may. NaN as in `potential`.
    """
    return over_edges(phase, edges, pull.integral, "lyapunov", "U(t)", "rad")


def lyapunov_rate(phase: xr.DataArray, edges: Edges, pull: Pull) -> xr.DataArray:
    """dU/dt in rad/s, of dimension time, by central differences: how fast the state dissipates."""
    return rate(lyapunov(phase, edges, pull)).rename("lyapunov_rate").assign_attrs(long_name="dU/dt")


def over_edges(
    phase: xr.DataArray,
    edges: Edges,
    metric: Callable[[np.ndarray], np.ndarray],
    name: str,
    long_name: str,
    units: str = "1",
) -> xr.DataArray:
    """The sum over edges of T_ij times a metric of theta_j - theta_i, at each instant."""
    whole = checked(phase)
    receiver, sender, weight = edge_arrays(edges, whole.sizes["oscillator"])
    values = np.empty(whole.sizes["time"])
    for part, block in blocks(whole, len(receiver)):
        values[part] = weight @ metric(block[sender] - block[receiver])
    return series(phase, values, name, units, long_name)
