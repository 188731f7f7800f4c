# SPDX-License-Identifier: BSD-3-Clause
"""Integrates a model: the phases of all oscillators over time."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.analysis.oscillators.errors import ModelError
from perfield.analysis.oscillators.model import Model
from perfield.analysis.rhythm.dataset import phase_dataset


def oscillate(model: Model, initial: np.ndarray, times: np.ndarray, *, rtol: float = 1e-8) -> xr.Dataset:
    """Integrates a model and returns its phases, in the form of `perfield.analysis.rhythm.dataset`.

    initial : rad (n,), phases at times[0]. times : s, ascending. SciPy's DOP853 integrates in the co-rotating
    frame (theta - omega t), where the tolerance acts on what differs, not on what grows.
    """
    from scipy.integrate import solve_ivp

    edges, strength = model.topology, model.edge_strength
    frequency = np.broadcast_to(np.asarray(model.frequency, float), (edges.n,))
    mean = float(frequency.mean())
    detuning = frequency - mean

    def rate(_: float, phase: np.ndarray) -> np.ndarray:
        pull = strength * model.potential(phase[edges.sender] - phase[edges.receiver])
        return detuning + np.bincount(edges.receiver, pull, minlength=edges.n)

    span = float(times[0]), float(times[-1])
    found = solve_ivp(rate, span, initial, method="DOP853", t_eval=times, rtol=rtol, atol=1e-10)
    if not found.success:
        raise ModelError(f"the integration stalled at {found.t[-1]:.6g} s: {found.message}")
    return phase_dataset(found.y + mean * (times - times[0]), times, edges)
