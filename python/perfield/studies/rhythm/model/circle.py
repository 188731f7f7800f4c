# SPDX-License-Identifier: BSD-3-Clause
"""The phase circle: each rank as a point at the angle of its phase (eq. 7)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.studies.rhythm.model.blocks import checked
from perfield.studies.rhythm.model.errors import RhythmError


def phase_circle(phase: xr.DataArray, frame: str | int | None = None) -> xr.DataArray:
    """(cos theta, sin theta), of the dimensions (axis, oscillator, time), axis = "x", "y" (eq. 7).

    frame : the frame that turns with: None (none), "mean" (the mean of the ranks' phases), or a rank.
    The circle does not see whole steps. NaN where a phase is unknown, or that of the frame's rank.
    """
    whole = checked(phase)
    turned = whole
    if frame == "mean":
        turned = whole - whole.mean("oscillator")
    elif frame is not None:
        if isinstance(frame, str) or frame not in whole["oscillator"]:
            raise RhythmError(
                f'frame = {frame!r} is not a rank of these phases; expected None, "mean" or a rank.'
            )
        turned = whole - whole.sel(oscillator=frame, drop=True)
    angle = turned.values
    about = {"units": "1", "long_name": "place on the unit circle"}
    names = {"axis": ["x", "y"], **{name: whole[name] for name in whole.dims if name in whole.coords}}
    points = np.stack([np.cos(angle), np.sin(angle)])
    found = xr.DataArray(points, names, ("axis", *whole.dims), "phase_circle", about)
    return found if "time" in phase.dims else found.isel(time=0)
