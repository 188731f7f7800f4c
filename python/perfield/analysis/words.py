# SPDX-License-Identifier: BSD-3-Clause
"""Amounts in words, with three digits."""

from __future__ import annotations


def in_bytes(count: float) -> str:
    """A number of bytes: "1.5 kB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def in_seconds(time_s: float) -> str:
    """A time: "2.5 s", "31 ms", "4.2 µs"."""
    for unit, one_s in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if time_s >= 0.1 * one_s:
            return f"{time_s / one_s:.3g} {unit}"
    return f"{time_s / 1e-9:.3g} ns" if time_s > 0 else "0 s"
