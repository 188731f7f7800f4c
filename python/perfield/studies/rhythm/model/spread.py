# SPDX-License-Identifier: BSD-3-Clause
"""How far apart ranks are, whole steps included: what R, S and the phase circle cannot see."""

from __future__ import annotations

import warnings

import numpy as np
import xarray as xr

from perfield.studies.rhythm.model.blocks import over_time
from perfield.studies.rhythm.model.dataset import TURN


def spread(phase: xr.DataArray) -> xr.DataArray:
    """From the rank furthest behind to the one furthest ahead, in periods (steps), of dimension time.

    Ranks without a phase do not count; NaN where none has one.
    """

    def of_block(block: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return (np.fmax.reduce(block, axis=0) - np.fmin.reduce(block, axis=0)) / TURN

    return over_time(phase, of_block, "spread", "periods", "spread of the phases")


def phase_variance(phase: xr.DataArray) -> xr.DataArray:
    """Mean square distance of the unwrapped phases from their mean, rad^2, of dimension time.

    Ranks without a phase do not count; NaN where none has one.
    """

    def of_block(block: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of instants without any phase
            return np.nanvar(block, axis=0)

    return over_time(phase, of_block, "phase_variance", "rad^2", "variance of the phases")
