# SPDX-License-Identifier: BSD-3-Clause
"""A comparison within regimes as lines of text, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.text import counted, format_table, in_change, in_percent, in_seconds

if TYPE_CHECKING:
    from perfield.studies.regimes.model.comparing import Improvement, RegimeComparison, Share


YES = "yes: the 95 % interval leaves out no change"


def other_ranks(n_ranks: list[int], names: list[str]) -> Iterator[str]:
    """What another number of ranks does to the longest time of all."""
    if n_ranks[0] != n_ranks[1]:
        counts = [counted(n, "rank") for n in n_ranks]
        yield (
            f"{names[0]} has {counts[0]} and {names[1]} {counts[1]}: the longest time of more ranks is "
            "slow more often on the same machine, so means and shares of steps say little; measure on as "
            "many ranks"
        )


def in_words(found: RegimeComparison, field: str, n_ranks: list[int], notes: list[str]) -> list[str]:
    """The comparison as lines of text."""

    lines = [found.verdict, ""]
    for what, name, n, n_steps in zip(("before", "after"), found.names, n_ranks, found.n_steps):
        lines.append(f"{what + ':':8}{name}, {counted(n, 'rank')}, {counted(n_steps, 'step')}")
    rows = [_improvement_row(one) for one in (found.overall, *found.regimes, found.from_shares)]
    rows += [_share_row(one) for one in found.shares]
    lines += ["", format_table(rows), ""]
    lines += [f"times: {field}, the longest of all ranks in each step; {YES}"]
    return lines + [f"note: {note}" for note in notes]


def as_json(found: RegimeComparison, notes: list[str]) -> dict[str, Any]:
    """The comparison as plain values; docs/regimes.md explains them."""
    entries = {
        name: getattr(found, name)
        for name in (
            "verdict",
            "names",
            "n_steps",
            "is_aligned",
            "overall",
            "regimes",
            "shares",
            "from_shares",
        )
    }
    return {**entries, "notes": notes, "model": json.loads(found.model.to_json())}


def _improvement_row(one: Improvement) -> dict[str, str]:
    return {
        "": one.words,
        "before": in_seconds(one.before),
        "after": in_seconds(one.after),
        "change": f"{in_change(-100 * one.share)} %",
        "95 % interval": _between(-one.high, -one.low),
        "beyond chance": "yes" if one.beyond_chance else "no",
    }


def _share_row(one: Share) -> dict[str, str]:
    return {
        "": f"share of steps in the {one.words} regime",
        "before": in_percent(one.before, 3),
        "after": in_percent(one.after, 3),
        "change": f"{in_change(100 * (one.after - one.before))} points",
        "95 % interval": _between(one.low, one.high, " points"),
        "beyond chance": "yes" if one.low > 0 or one.high < 0 else "no",
    }


def _between(low: float, high: float, unit: str = " %") -> str:
    if not np.isfinite([low, high]).all():
        return ""
    return f"{in_change(100 * low)} to {in_change(100 * high)}{unit}"


def left_out(times: list[Any], names: list[str]) -> list[str]:
    """A clause for each kind of steps that each side leaves out."""
    return [
        f"{name}: {clause}"
        for each, name in zip(times, names)
        for clause in each.attrs["left_out"].split("\n")
        if clause
    ]
