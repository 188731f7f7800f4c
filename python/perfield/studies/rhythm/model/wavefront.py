# SPDX-License-Identifier: BSD-3-Clause
"""The slope of a computational wavefront: by how much each rank is ahead of the one before it."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.studies.rhythm.model.blocks import blocks, checked, series
from perfield.studies.rhythm.model.dataset import TURN
from perfield.studies.rhythm.model.errors import RhythmError


def wavefront(phase: xr.DataArray, position: np.ndarray | None = None) -> xr.Dataset:
    """The straight line through the phases of each instant, by least squares.

    position : float (oscillator,), where each rank is: a rank's number by default, else that of its node
        or its distance in a topology, say. NaN leaves a rank out.
    Returns `slope` (time) in periods per rank (position), positive if later ranks are ahead; and `fit`
    (time), the share of the phases' variance that the line explains (R^2, 0 to 1); NaN where fewer than two
    ranks have a phase, `fit` also where all phases are the same.
    """
    whole = checked(phase)
    place = places(whole, position)
    slope, fit = np.empty(whole.sizes["time"]), np.empty(whole.sizes["time"])
    for part, block in blocks(whole):
        slope[part], fit[part] = line(block / TURN, place)
    return xr.Dataset(
        {
            "slope": series(phase, slope, "slope", "periods/rank", "phase gained from rank to rank"),
            "fit": series(phase, fit, "fit", "1", "share of the variance that a line explains"),
        }
    )


def places(phase: xr.DataArray, position: np.ndarray | None) -> np.ndarray:
    """Where each oscillator is, float (oscillator,): `position` if given, else its number."""
    n = phase.sizes["oscillator"]
    place = np.arange(n, dtype=float) if position is None else np.asarray(position, float)
    if place.shape != (n,):
        raise RhythmError(
            f"position has the shape {place.shape}; expected one number for each of the {n} ranks."
        )
    return place


def line(values: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope and R^2 of the line through each column of `values` (oscillator, n) over `place`: two (n,)."""
    known = np.isfinite(values) & np.isfinite(place)[:, None]
    count = known.sum(axis=0).astype(float)
    count[count < 2] = np.nan
    x, y = np.where(known, place[:, None], 0.0), np.where(known, values, 0.0)
    x = np.where(known, x - x.sum(axis=0) / count, 0.0)
    y = np.where(known, y - y.sum(axis=0) / count, 0.0)
    along, across, both = (x * x).sum(axis=0), (y * y).sum(axis=0), (x * y).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(np.isfinite(count) & (along > 0), both / along, np.nan)
        rounding = count * (8 * np.finfo(float).eps * np.abs(np.where(known, values, 0.0)).max(axis=0)) ** 2
        fit = np.where(np.isfinite(slope) & (across > rounding), slope * both / across, np.nan)
    return slope, fit
