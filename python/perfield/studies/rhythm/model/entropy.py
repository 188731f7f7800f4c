# SPDX-License-Identifier: BSD-3-Clause
"""The synchronisation entropy: how phases spread over a step, clusters included (eq. 9)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.studies.rhythm.model.blocks import blocks, checked, enough_bins, series
from perfield.studies.rhythm.model.dataset import TURN
from perfield.studies.rhythm.model.differences import wrapped
from perfield.studies.rhythm.model.order import mean_angle

CIRCLE_BINS = 36
"""A common number of fixed bins on the circle."""


def entropy(phase: xr.DataArray, bins: int | None = None, *, relative: bool = False) -> xr.DataArray:
    """S in [0, ln N_b], of dimension time (eq. 9), with the number of bins as coordinate `bins`.

    The phases count relative to the mean phase psi, wrapped to [-pi, pi), so S does not depend on psi.
    bins : None for the rule of Freedman and Diaconis (h = 2 IQR P^(-1/3), N_b = ceil(range / h), IQR by
        Hazen's quantiles and at least range / 10); or a number of equal bins of the whole circle, one of
        them centred at psi: CIRCLE_BINS is common. Only with fixed bins may S of two instants be compared.
    relative : S / ln N_b in [0, 1] instead of S; 0 where there is one bin.
    Like R, it does not see whole steps. The bins of Freedman and Diaconis shrink with the spread, so that
    S stays above 0 also for nearly synchronous ranks; two equal clusters of fewer than 8 ranks share one bin.
    Ranks without a phase do not count; NaN where none has one.
    """
    whole = checked(phase)
    enough_bins(bins)
    values = np.empty(whole.sizes["time"])
    count = np.empty(whole.sizes["time"], np.int64)
    for part, block in blocks(whole):
        values[part], count[part] = of_block(block, bins)
    if relative:
        values = np.divide(values, np.log(count), out=values * 0.0, where=count > 1)
    found = series(phase, values, "entropy", "1", "S / ln N_b" if relative else "S")
    numbers = count if "time" in phase.dims else count[0]
    return found.assign_coords(bins=(found.dims, numbers, {"long_name": "number of bins"}))


def of_block(block: np.ndarray, bins: int | None) -> tuple[np.ndarray, np.ndarray]:
    """S and the number of bins of each instant of a block (oscillator, n)."""
    around = wrapped(block - mean_angle(block))
    known = np.isfinite(around)
    ranks = known.sum(axis=0)
    if bins is None:
        around = np.sort(around, axis=0)  # unknown ones last
        known = np.isfinite(around)
        low = around[0]
        width = np.take_along_axis(around, np.maximum(ranks - 1, 0)[None], axis=0)[0] - low
        # Sorting noise of rounding into bins would make a synchronous state look disordered.
        rounding = 8 * np.finfo(float).eps * np.nanmax(np.abs(block), axis=0, initial=0.0)
        flat = ~(width > np.maximum(1e-12, rounding))
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = hazen(around, ranks, 0.75) - hazen(around, ranks, 0.25)
            step = 2 * np.maximum(middle, width / 10) / np.cbrt(ranks)
            count = np.where(flat, 1, np.ceil(width / step - 1e-9)).astype(np.int64)
            place = np.floor((around - low) / width * count)
        place = np.where(known & ~flat, np.minimum(place, count - 1), 0)
    else:
        count = np.full(block.shape[1], bins, np.int64)
        place = np.floor((np.where(known, around, 0.0) + np.pi) / (TURN / bins) + 0.5) % bins
    begin = np.cumsum(count) - count
    cell = (place + begin).astype(np.int64)
    share = np.bincount(cell[known], minlength=int(count.sum())) / np.repeat(np.maximum(ranks, 1), count)
    terms = -share * np.log(np.where(share > 0, share, 1.0))
    total = np.add.reduceat(terms, begin) + 0.0
    return np.where(ranks > 0, total, np.nan), count


def hazen(ascending: np.ndarray, ranks: np.ndarray, share: float) -> np.ndarray:
    """Hazen's quantile of the first `ranks` values of each ascending column: (n,)."""
    at = np.clip(share * ranks - 0.5, 0, np.maximum(ranks - 1, 0))
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(ranks - 1, 0))
    below, above = (np.take_along_axis(ascending, place[None], axis=0)[0] for place in (low, high))
    return below + (at - low) * (above - below)
