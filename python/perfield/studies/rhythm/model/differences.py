# SPDX-License-Identifier: BSD-3-Clause
"""Differences of phases between pairs of ranks: timelines, histogram and heat map (eq. 11 to 13)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from perfield.studies.rhythm.model.blocks import (
    by_offset,
    checked,
    enough_bins,
    few_enough,
    instant,
    ranks_of,
)
from perfield.studies.rhythm.model.dataset import TURN

MOST_RANKS = 2000
"""Most ranks whose pairs are all compared at one instant; beyond, take neighbours by their offsets."""
MOST_VALUES = MOST_RANKS**2 * 10
"""Numbers in timelines of pairs: 320 MB in float64."""
MOST_BINS = 500


def wrapped(difference: np.ndarray | xr.DataArray) -> np.ndarray | xr.DataArray:
    """Angles wrapped to [-pi, pi), rad: ((x + pi) mod 2 pi) - pi."""
    return (difference + np.pi) % TURN - np.pi


def phase_differences(phase: xr.DataArray, *, offsets: Sequence[int] | None = None) -> xr.DataArray:
    """theta_j - theta_i of each pair with j < i, rad (pair, time), unwrapped (eq. 11).

    offsets : compare neighbours only: pairs with i - j among them, such as (1, 2).
    The coordinates `i` and `j` (pair) hold the ranks. Raises RhythmError beyond MOST_VALUES numbers.
    """
    whole = checked(phase)
    i, j = pairs(whole, offsets, whole.sizes["time"], MOST_VALUES, "timelines of all pairs")
    values = whole.values
    found = np.empty((len(i), whole.sizes["time"]))
    np.subtract(values[j], values[i], out=found)
    ranks = ranks_of(whole)
    names = {"i": ("pair", ranks[i]), "j": ("pair", ranks[j])}
    times = {"time": whole["time"]} if "time" in whole.coords else {}
    about = {"units": "rad", "long_name": "theta_j - theta_i"}
    found = xr.DataArray(found, {**names, **times}, ("pair", "time"), "phase_differences", about)
    return found if "time" in phase.dims else found.isel(time=0)


def difference_histogram(
    phase: xr.DataArray,
    at: float | None = None,
    *,
    bins: int | None = None,
    offsets: Sequence[int] | None = None,
    wrap: bool = False,
) -> xr.DataArray:
    """Counts of theta_j - theta_i over the pairs with j < i at one instant, int64 (difference) (eq. 12).

    at : s, the nearest instant counts; by default the last. bins : number of equal bins over the range; by
        default the rule of Freedman and Diaconis, at most MOST_BINS. offsets : as in `phase_differences`.
    wrap : differences to [-pi, pi). `difference` is each bin's middle in rad; `left` and `right` its edges.
    Pairs with an unknown phase do not count. Raises RhythmError beyond MOST_RANKS ranks.
    """
    enough_bins(bins)
    values = instant(phase, at)
    i, j = pairs(values, offsets, 1, MOST_RANKS**2 // 2, "a histogram of all pairs")
    apart = values.values[j] - values.values[i]
    apart = apart[np.isfinite(apart)]
    apart = wrapped(apart) if wrap else apart
    number = bins or freedman_diaconis(apart)
    low, high = (apart.min(), apart.max()) if len(apart) else (0.0, 0.0)
    if high - low < 1e-12:
        low, high = low - 0.5, high + 0.5
    count, edges = np.histogram(apart, number, (low, high))
    about = {"units": "rad"}
    places = {
        "difference": (
            "difference",
            (edges[1:] + edges[:-1]) / 2,
            {**about, "long_name": "theta_j - theta_i"},
        ),
        "left": ("difference", edges[:-1], about),
        "right": ("difference", edges[1:], about),
    }
    attributes = {"units": "1", "long_name": "pairs of ranks"}
    return xr.DataArray(count, places, ("difference",), "difference_histogram", attributes)


def difference_matrix(phase: xr.DataArray, at: float | None = None, *, wrap: bool = False) -> xr.DataArray:
    """M_ij = theta_j - theta_i at one instant, rad (oscillator, other): i is the row (eq. 13).

    at : s, the nearest instant counts; by default the last. wrap : to [-pi, pi).
    Raises RhythmError beyond MOST_RANKS ranks.
    """
    values = instant(phase, at)
    few_enough(values.size**2, MOST_RANKS**2, "the matrix of all pairs", BY_OFFSETS)
    apart = values.values[None, :] - values.values[:, None]
    ranks = ranks_of(values)
    about = {"units": "rad", "long_name": "theta_j - theta_i"}
    names = {"oscillator": ranks, "other": ranks}
    apart = wrapped(apart) if wrap else apart
    return xr.DataArray(apart, names, ("oscillator", "other"), "difference_matrix", about)


BY_OFFSETS = (
    "compare neighbours only: phase_differences(phase, offsets=(1,)), or choose fewer ranks or instants"
)


def pairs(
    phase: xr.DataArray, offsets: Sequence[int] | None, instants: int, most: int, what: str
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs i, j of ranks to be compared; RhythmError if these are too many."""
    n = phase.sizes["oscillator"]
    count = n * (n - 1) // 2 if offsets is None else n * len(offsets)
    few_enough(count * instants, most, what, BY_OFFSETS)
    return by_offset(n, offsets)


def freedman_diaconis(values: np.ndarray) -> int:
    """Number of bins by the rule of Freedman and Diaconis: IQR by Hazen's quantiles, at least range / 10."""
    width = float(np.ptp(values)) if len(values) else 0.0
    if width < 1e-12:
        return 1
    low, high = np.quantile(values, [0.25, 0.75], method="hazen")
    step = 2 * max(high - low, width / 10) / np.cbrt(len(values))
    return min(int(np.ceil(width / step - 1e-9)), MOST_BINS)
