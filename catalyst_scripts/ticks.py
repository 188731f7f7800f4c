# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the numbers of a legend: few, in one notation, in a unit that suits their size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

UNITS = {
    "s": ((1.0, "s"), (1e3, "ms"), (1e6, "\N{MICRO SIGN}s"), (1e9, "ns")),
    "B": ((1e-12, "TB"), (1e-9, "GB"), (1e-6, "MB"), (1e-3, "kB"), (1.0, "bytes")),
}
LEAST = 1e-300  # of a scale; less has no power of ten below it
INTERVALS = (5, 4, 6)
ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


def unit_for(unit: str, largest: float) -> tuple[float, str]:
    """A factor for values and the name of the resulting unit: ("s", 0.02) -> (1000.0, "ms")."""
    units = UNITS.get(unit, ((1.0, ""),))
    if largest == 0:
        return 1.0, dict(units)[1.0]
    # Texts have three digits, which round 999.7 ms to a second.
    return next(((factor, name) for factor, name in units if largest * factor >= 0.9995), units[-1])


def unit_of(about: Mapping[str, Any]) -> tuple[float, str]:
    """Factor and unit of an array's numbers, the same in its legend and its labels.

    about : the array's description in pictures.json.
    """
    return unit_for(about["unit"], max(map(abs, about.get("scale") or about["range"])))


def amount(value: float) -> str:
    """A number with three digits, and commas between thousands: "0.25", "1,500"."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{float(f'{value:.3g}'):,.0f}"


def ticks(low: float, high: float, factor: float = 1.0, whole: bool = False) -> dict[float, str]:
    """Values from low to high, including both, and their texts.

    The texts are multiplied by a factor. All have the same number of decimals, enough to distinguish
    neighbours, or as few as round numbers need. Scales around zero have it in their middle. whole : only
    whole numbers.
    """
    if low == -high and high > 0:
        above = ticks(0.0, high, factor, whole)
        if len(above) == 7:  # thirteen numbers are too many
            above = dict(list(above.items())[::2])
        below = {-value: f"-{text}" for value, text in reversed(above.items()) if value}
        return {**below, **{value: f"+{text}" if value else "0" for value, text in above.items()}}
    intervals = _intervals(high - low, whole) if low == 0 else None
    count = intervals or INTERVALS[0]
    values = [*(low + (high - low) * n / count for n in range(count)), high]
    if whole:
        values = [float(round(value)) for value in values]
    values = sorted(set(values))
    largest = max(abs(low), abs(high)) * factor
    if largest < LEAST:
        return dict.fromkeys(values, "0")
    if whole:
        return {value: f"{value * factor:.0f}" for value in values}
    digits = math.floor(math.log10(largest) + 1e-9)
    if intervals and -3 <= digits < 6:
        most = next(n for n in range(16) if _is_close(round(values[1] * factor, n), values[1] * factor))
        return {value: f"{value * factor:.{most}f}" for value in values}
    apart = digits - math.floor(math.log10(values[1] * factor - values[0] * factor)) if low < high else 0
    significant = min(max(2, apart + 1), 12)  # digits after the first digit of the largest value
    form = f".{max(0, significant - digits)}f" if -3 <= digits < 6 else f".{significant}e"
    written = {value: format(value * factor, form) for value in values}
    return {value: text if float(text) else text.lstrip("-") for value, text in written.items()}


def _intervals(length: float, whole: bool) -> int | None:
    """Into how many intervals of round length a scale can be divided; None if into none."""
    if length < LEAST:
        return None
    if whole and length <= max(INTERVALS):
        return round(length)
    for count in INTERVALS:
        each = length / count
        power = 10.0 ** math.floor(math.log10(each) + 1e-9)
        if any(_is_close(each / power, round_number) for round_number in ROUND):
            return count
    return None


def _is_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9)
