# SPDX-License-Identifier: BSD-3-Clause
"""Phases with a planted state."""

from __future__ import annotations

import numpy as np
import xarray as xr

TURN = 2 * np.pi


def phases_of(periods, times=None):
    """Phases (oscillator, time) from periods: (oscillator,) of one instant, or (oscillator, time)."""
    values = TURN * np.asarray(periods, float)
    ranks = np.arange(len(values))
    if values.ndim == 1:
        return xr.DataArray(values, {"oscillator": ranks}, ("oscillator",), "phase")
    times = np.arange(values.shape[1], dtype=float) if times is None else times
    return xr.DataArray(values, {"oscillator": ranks, "time": times}, ("oscillator", "time"), "phase")
