# SPDX-License-Identifier: BSD-3-Clause
"""Amounts in words, with three digits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np


def in_bytes(count: float) -> str:
    """A number of bytes: "1.5 kB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def in_seconds(time_s: float) -> str:
    """A time: "1,200 s", "2.5 s", "310 ms", "8 µs", "12 ns"."""
    for unit, one_s in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if time_s >= 0.9995 * one_s:
            return f"{in_number(time_s / one_s)} {unit}"
    return f"{time_s / 1e-9:.3g} ns" if time_s > 0 else "0 s"


def printable(text: str) -> str:
    """Text without control characters and broken bytes, which names may hold: these become "\\x1b"."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def counted(count: int, word: str) -> str:
    """A number of things: "1 rank", "1,200 ranks"."""
    return f"{count:,} {word}{'s' if count != 1 else ''}"


def shortened(text: str, most: int) -> str:
    """Printable text without line breaks; a part in its middle is left out beyond `most` characters."""
    text = " ".join(printable(text).split())
    end = most // 3
    return text if len(text) <= most else f"{text[: most - 3 - end]}...{text[-end:]}"


def begin_of_list(text: str, most: int = 40) -> str:
    """A list such as "0-3,8", cut behind a comma beyond `most` characters: "0-3,..."."""
    return text if len(text) <= most else f"{text[: most - 4].rpartition(',')[0]},..."


def in_number(number: float) -> str:
    """A number with three digits, and commas between thousands: "0.25", "1,500", "12,300,000"."""
    if abs(number) < 999.5:
        return f"{number:.3g}"
    return f"{float(f'{number:.3g}'):,.0f}"


def in_periods(apart: float) -> str:
    """How far ranks are apart: "1.25 periods". Below a thousandth it is what a solver or a clock leaves."""
    return "less than 0.001 periods" if 0 <= apart < 1e-3 else f"{apart:.3g} periods"


def in_percent(share: float, digits: int = 2) -> str:
    """A share: "41 %", "0.5 %", "110 %"; with three digits "11.4 %"."""
    percent = 100 * share
    return f"{percent:.{digits if abs(percent) < 99.5 else 0}{'g' if abs(percent) < 99.5 else 'f'}} %"


def part_of(share: float) -> str:
    """A share of what is named next: "all of", "nearly all of", "41 % of"."""
    if share > 0.995:
        return "all of" if share > 1 - 1e-9 else "nearly all of"
    return f"{in_percent(share)} of"


def in_ranks(ranks: np.ndarray, most: int = 3) -> str:
    """Ranks: "rank 2", "ranks 2 and 5", "ranks 0, 1, 2 and 4 more"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {in_list([str(rank) for rank in ranks], most)}"


def in_list(names: Sequence[str], most: int = 3) -> str:
    """Names: "a", "a and b", "a, b, c and 4 more"."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def did_you_mean(name: str, known: Iterable[str], most: int = 3) -> str:
    """A question about the known names that are nearest to one: "did you mean a or b?"; "" without such."""
    near = get_close_matches(name, list(known), most)
    return f"did you mean {' or '.join(near)}?" if near else ""


def start(sentence: str) -> str:
    """The sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]
