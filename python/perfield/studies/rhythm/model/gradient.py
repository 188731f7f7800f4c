# SPDX-License-Identifier: BSD-3-Clause
"""The topological phase gradient: how far each rank is from those it receives from (eq. 10)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from perfield.studies.rhythm.model.blocks import Edges, blocks, checked, edge_arrays


def phase_gradient(phase: xr.DataArray, edges: Edges, *, mean: bool = False) -> xr.DataArray:
    """g_i = sum_j T_ij |theta_j - theta_i| in rad, of the dimensions of `phase` (eq. 10), unwrapped.

    mean : divide by sum_j T_ij, which makes ranks of different degree comparable; neighbours without a phase
        do not count then, and ranks that receive from nobody are NaN. The sum is NaN where a neighbour has
        no phase, and 0 for ranks that receive from nobody.
    """
    whole = checked(phase)
    n = whole.sizes["oscillator"]
    receiver, sender, weight = edge_arrays(edges, n)
    add_up = csr_array((weight, (receiver, np.arange(len(receiver)))), shape=(n, len(receiver)))
    values = np.empty(whole.shape)
    for part, block in blocks(whole, len(receiver)):
        apart = np.abs(block[sender] - block[receiver])
        if mean:
            known = np.isfinite(apart)
            with np.errstate(invalid="ignore"):
                values[:, part] = (add_up @ np.where(known, apart, 0.0)) / (add_up @ known.astype(float))
        else:
            values[:, part] = np.where(np.isfinite(block), add_up @ apart, np.nan)
    found = xr.DataArray(values, whole.coords, whole.dims, "phase_gradient")
    of = "mean" if mean else "sum"
    about = {"units": "rad", "long_name": f"phase gradient ({of} over those it receives from)"}
    found = found.assign_attrs(about)
    return found if "time" in phase.dims else found.isel(time=0)
