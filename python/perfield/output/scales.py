# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the ends of colour scales: amounts start at zero, and scales end at round numbers.

A scale from the smallest to the largest value would stretch noise over all colours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # between numbers of a legend, times a power of ten
INTERVALS = (5, 4, 6)
OUTLIER = 5.0
# Arrays that name or place things; all others of perfield are amounts.
NAMES = {
    *("rank", "source", "target", "inside_node", "id", "topology_type", "host_name"),
    *("node_id", "package_id", "core_id", "pu_id", "name", "level", "device_type"),
    *("same_node", "same_package", "same_numa", "same_switch", "hops", "regime_shade", "regime"),
}

SIGNED = {"phase_steps": 0.1}  # white in the middle; the least end, below which differences are noise
SHARES = {"order_parameter", "slow_share", "regime_probability", "device_utilisation_share"}


def scale_of(name: str, about: Mapping[str, Any], own: Mapping[str, str]) -> tuple[float, float] | None:
    """Both ends of an array's colours; None for arrays that name things.

    about : its "range", "usual_peak" if some steps are unusual, and "unit". own : the simulation's own
    fields; these keep their range, and so do negative amounts, except those around 0 (SIGNED).
    """
    low, high = about["range"]
    high = about.get("usual_peak", high)
    if name in NAMES and name not in own:
        return None
    if name in SIGNED and name not in own:
        end = round_end(max(-low, about["range"][1], SIGNED[name]))
        return -end, end
    if name in SHARES and name not in own:
        return 0.0, 1.0
    if name in own or low < 0:
        return low, high
    return 0.0, round_end(high, whole=about["unit"] == "1")


def usual_peak(peaks: np.ndarray) -> float | None:
    """The largest value of all usual steps; None if no step is unusual.

    peaks : (n_steps,) the largest value of each. A step is unusual if its largest value exceeds OUTLIER times
    the median over all steps. Scaled to such a step, often the first, all others would have the same colour.
    """
    limit = OUTLIER * np.median(peaks) if len(peaks) > 2 else 0.0
    return float(peaks[peaks <= limit].max()) if 0 < limit < peaks.max() else None


def round_end(high: float, whole: bool = False) -> float:
    """The smallest round number that is not below `high`.

    It is 4, 5 or 6 times 1, 2, 2.5 or 5 times a power of ten, so that a legend has round numbers.
    high : at least 0; 0 gives 1. whole : the numbers of the legend are whole.
    """
    if high <= 0:
        return 1.0
    if whole and high <= max(INTERVALS):
        return float(math.ceil(high))
    exponent = math.floor(math.log10(high)) - 1
    ends = [
        intervals * step * 10.0**power
        for power in (exponent, exponent + 1)
        for step in STEPS
        for intervals in INTERVALS
        if not whole or (step * 10.0**power).is_integer()
    ]
    return float(f"{min(end for end in ends if end >= high * (1 - 1e-9)):.12g}")


def reach(arrays: Mapping[str, dict[str, Any]], name: str, other: str) -> None:
    """Makes the scale of one array reach as far as another's, so that little of it looks like little."""
    scales = [about["scale"] for about in map(arrays.get, (name, other)) if about and about["scale"]]
    if len(scales) == 2:
        arrays[name]["scale"] = max(scales)
