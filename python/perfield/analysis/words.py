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
    """A time: "2.5 s", "31 ms"."""
    return f"{time_s:.3g} s" if time_s >= 0.1 else f"{1000 * time_s:.3g} ms"


def percent(share: float) -> str:
    """A share: 0.1137 is "11.4 %"."""
    return f"{100 * share:.3g} %"
