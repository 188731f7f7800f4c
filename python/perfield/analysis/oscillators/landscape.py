# SPDX-License-Identifier: BSD-3-Clause
"""The energy of a potential over a plane: the hat of Figure 1, with its hill and its ring of minima."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.analysis.oscillators.potentials import Potential


def landscape(potential: Potential, *, reach: float = np.pi, points: int = 101) -> xr.Dataset:
    """Energy, the integral of V, of a potential that depends on the distance from the origin only.

    reach : rad, how far x and y go to either side. points : along each of them, odd, so that 0 is among them.
    Returns `surface` (y, x), Figure 1a, and `section` (x), its cut at y = 0, Figure 1b. Motion along the ring
    of minima costs no energy (a Goldstone mode); motion across it does.
    """
    axis = np.linspace(-reach, reach, points)
    surface = potential.integral(np.hypot(axis[:, None], axis[None, :]))
    about = {"units": "rad", "long_name": "energy: the integral of V"}
    angle = {"units": "rad", "long_name": "phase difference"}
    return xr.Dataset(
        {"surface": (("y", "x"), surface, about), "section": ("x", potential.integral(axis), about)},
        {"x": ("x", axis, angle), "y": ("y", axis, angle)},
    )
