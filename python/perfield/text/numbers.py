# SPDX-License-Identifier: BSD-3-Clause
"""Numbers as people read them: three digits, in a unit that suits their size.

What is rounded decides the unit, so 999.7 ms are 1 s. NaN is "unknown".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

UNKNOWN = "unknown"
_BYTES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_LEAST_PERCENT = 1e-4


def in_bytes(count: float) -> str:
    """A number of bytes: "1.5 kB", "2 TB"."""
    return _in_units(count, _BYTES, 3) if count else "0 B"


def in_seconds(time_s: float, digits: int = 3) -> str:
    """A time: "1,200 s", "2.5 s", "310 ms", "8 µs", "12 ns"; with four digits "312.5 ms"."""
    return _in_units(time_s, _SECONDS, digits) if time_s else "0 s"


def unit_of_time(time_s: float) -> tuple[float, str]:
    """The unit that suits a time, in s and by name, for columns of tables: (0.001, "ms")."""
    return _unit_of(time_s, _SECONDS)


def _unit_of(amount: float, units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    return next((each for each in units if abs(amount) >= each[0]), units[-1])


def _in_units(amount: float, units: Sequence[tuple[float, str]], digits: int) -> str:
    if math.isnan(amount):
        return UNKNOWN
    rounded = float(f"{amount:.{digits}g}")
    size, unit = _unit_of(rounded, units)
    return f"{in_number(rounded / size, digits)} {unit}"


def in_number(number: float, digits: int = 3) -> str:
    """A number with three digits, and commas between thousands: "0.25", "1,500", "12,300,000"."""
    if math.isnan(number):
        return UNKNOWN
    if abs(number) < 10**digits - 0.5:
        return f"{number:,.{digits}g}"
    return f"{float(f'{number:.{digits}g}'):,.0f}"


def in_percent(share: float, digits: int = 2) -> str:
    """A share: "41 %", "0.5 %", "110 %"; with three digits "11.4 %"."""
    percent = 100 * share
    if math.isnan(percent):
        return UNKNOWN
    if 0 < abs(percent) < _LEAST_PERCENT * (1 - 1e-9):  # 100 times a share is rounded
        return f"less than {_LEAST_PERCENT:f}".rstrip("0") + " %"
    return f"{percent:.{digits}g} %" if abs(percent) < 10**digits - 0.5 else f"{percent:,.0f} %"


def in_whole_percent(share: float) -> str:
    """A share of a whole without decimals: neither "0 %" nor "100 %" unless it is exactly that."""
    if share <= 1e-9 or share >= 1 - 1e-9:  # sums of many times are rounded
        return f"{100 * round(min(max(share, 0), 1)):.0f} %"
    if share < 0.005:
        return "less than 1 %"
    return f"{min(round(100 * share), 99):.0f} %"


def in_change(percent: float) -> str:
    """A difference in percent or in points, without its unit: "+1.5", "-23", "0". It is "-100" only if
    nothing is left."""
    if -100 < percent < -99.4:
        return f"{max(percent, -99.9):.1f}"
    text = f"{percent:+.1f}" if abs(percent) < 9.95 else f"{percent:+,.0f}"
    return "0" if float(text.replace(",", "")) == 0 else text


def part_of(share: float) -> str:
    """A share of what is named next: "all of", "nearly all of", "41 % of"."""
    if share > 0.995:
        return "all of" if share > 1 - 1e-9 else "nearly all of"
    return f"{in_percent(share)} of"


def in_periods(apart: float) -> str:
    """How far ranks are apart: "1.25 periods". Below a thousandth it is what a solver or a clock leaves."""
    return "less than 0.001 periods" if 0 <= apart < 1e-3 else f"{in_number(apart)} periods"


def counted(count: int, word: str) -> str:
    """A number of things: "1 rank", "1,200 ranks"."""
    return f"{count:,} {word}{'s' if count != 1 else ''}"
