# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the ends of colour scales: amounts start at zero, and scales end at round numbers.

A scale from the smallest to the largest value would stretch noise over all colours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from perfield.catalyst_scripts.ticks import LEAST
from perfield.derived.providers import given_fields

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # between numbers of a legend, times a power of ten
INTERVALS = (5, 4, 6)
OUTLIER = 5.0
PERCENTILE = 98.0
FAR_BEYOND = 1.25  # times the end of a scale
# Arrays that name or place things, beside fields declared so; all others of perfield are amounts.
NAMES = {
    *("rank", "source", "target", "inside_node", "id", "topology_type", "host_name"),
    *("lower_rank", "higher_rank"),
    *("node_id", "package_id", "core_id", "pu_id", "name", "level", "device_type"),
    *("same_node", "same_package", "same_numa", "same_switch", "hops"),
}
SHARES = {"device_utilisation_share"}


def scale_of(name: str, about: Mapping[str, Any], own: Mapping[str, str]) -> tuple[float, float] | None:
    """Both ends of an array's colours; None for arrays that name things.

    about : its "range", "scale_end" if few values go far beyond it, and "unit". own : the simulation's own
    fields; these keep their range, and so do negative amounts, except those around 0.
    """
    low, high = about["range"]
    high = about.get("scale_end", high)
    colours = "" if name in own else _colours(name)
    if colours == "category":
        return None
    if colours == "around 0":
        end = round_end(max(-low, about["range"][1], given_fields()[name].least_end))
        return -end, end
    if colours == "share":
        return 0.0, 1.0
    if name in own or low < 0:
        return low, high
    return 0.0, round_end(high, whole=about["unit"] == "1")


def is_category(name: str) -> bool:
    """Whether an array of perfield names or places things."""
    return _colours(name) == "category"


def _colours(name: str) -> str:
    """As those of `Field`."""
    if name in NAMES or name in SHARES:
        return "category" if name in NAMES else "share"
    return given_fields()[name].colours if name in given_fields() else "amount"


def end_without_outliers(values: np.ndarray, peaks: np.ndarray) -> float | None:
    """The 98th percentile of an array's values over ranks and steps, but not less than the peak of a typical
    step, which shows the ranks that are slow in most; None where the largest of all is not far beyond.

    values : finite. peaks : (n_steps,) the largest value of each.
    """
    if not len(values):
        return None
    end = max(float(np.percentile(values, PERCENTILE, method="higher")), float(np.median(peaks)))
    return end if 0 < FAR_BEYOND * round_end(end) < values.max() else None


def peak_without_outliers(peaks: np.ndarray) -> float | None:
    """The largest value of all typical steps; None if no step is an outlier.

    peaks : (n_steps,) the largest value of each. A step is an outlier if its largest value exceeds OUTLIER
    times the median over all steps. Scaled to such a step, often the first, all others would have the same
    colour.
    """
    limit = OUTLIER * np.median(peaks) if len(peaks) > 2 else 0.0
    return float(peaks[peaks <= limit].max()) if 0 < limit < peaks.max() else None


def round_end(high: float, whole: bool = False) -> float:
    """The smallest round number that is not below `high`.

    It is 4, 5 or 6 times 1, 2, 2.5 or 5 times a power of ten, so that a legend has round numbers.
    high : at least 0; 0 gives 1, as does less than any power of ten. whole : the numbers of the legend are
    whole.
    """
    if high < LEAST:
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
