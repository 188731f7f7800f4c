# SPDX-License-Identifier: BSD-3-Clause
"""Amounts in words, with three digits."""

from __future__ import annotations

from collections.abc import Sequence


def in_bytes(count: float) -> str:
    """A number of bytes: "1.5 kB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def in_seconds(time_s: float) -> str:
    """A time: "2.5 s", "310 ms", "8 µs"."""
    if time_s >= 0.9995:
        return f"{time_s:.3g} s"
    return f"{1e3 * time_s:.3g} ms" if time_s >= 0.9995e-3 or not time_s > 0 else f"{1e6 * time_s:.3g} µs"


def in_number(number: float) -> str:
    """A number with three digits, and commas between thousands: "0.25", "1,500", "12,300,000"."""
    if abs(number) < 999.5:
        return f"{number:.3g}"
    return f"{float(f'{number:.3g}'):,.0f}"


def in_percent(share: float) -> str:
    """A share: "37.5 %"."""
    return f"{100 * share:.3g} %"


def of_ranks(ranks: Sequence[int], most: int = 4) -> str:
    """Ranks: "rank 3", "ranks 0 and 4", "ranks 0, 4, 8 and 12", "ranks 0, 4, 8, 12 and 60 more"."""
    named = [str(rank) for rank in ranks[:most]]
    if len(ranks) > most:
        named.append(f"{len(ranks) - most} more")
    return f"rank {named[0]}" if len(ranks) == 1 else f"ranks {', '.join(named[:-1])} and {named[-1]}"
