# SPDX-License-Identifier: BSD-3-Clause
"""The order parameter: how far the ranks stand at the same point of their step (eq. 8)."""

from __future__ import annotations

import numpy as np
import xarray as xr


def order_parameter(phase: xr.DataArray) -> xr.DataArray:
    """R in [0, 1], of dimension time (eq. 8): 1 if all ranks are at the same point of a step.

    It does not see whole steps: ranks exactly one step apart look synchronous. Ranks without a phase do not
    count; NaN where none has one.
    """
    turn = np.exp(1j * phase)
    return abs(turn.mean("oscillator")).rename("order_parameter")
