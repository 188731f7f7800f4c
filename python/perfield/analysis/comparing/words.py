# SPDX-License-Identifier: BSD-3-Clause
"""A comparison as lines of text, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfield.analysis.comparing.table import REGIONS, STEP
from perfield.text import (
    Table,
    counted,
    in_bytes,
    in_change,
    in_number,
    in_percent,
    in_seconds,
)

if TYPE_CHECKING:
    from perfield.analysis.comparing import Change, Comparison, Measured, Row

MOST_REGIONS = 20
YES = "yes: chance alone makes the step, or any of the other lines, differ so in at most 1 of 100 cases"
MAYBE = "perhaps: the interval excludes zero, but among so many lines chance alone makes one like it"
HEADINGS = ("", ">before", ">after", ">change", ">95 % interval", ">beyond chance")


def in_words(comparison: Comparison, notes: list[str]) -> list[str]:
    """The comparison as lines of text: the sentence first, then tables, then what else differs."""
    before, after = comparison.before, comparison.after
    lines = [comparison.verdict, "", f"before: {_about(before)}", f"after:  {_about(after)}"]
    rows = []
    group = ""
    regions = [row for row in comparison.rows if row.group == REGIONS]
    for row in comparison.rows:
        if row in regions[MOST_REGIONS:]:
            continue
        if row.group != group:
            group = row.group
            rows.append((f"{group}:", *[""] * 5))
        rows.append(_cells(row))
    if before.is_whole:
        rows = [("whole run:", *cells) if name == f"{STEP}:" else (name, *cells) for name, *cells in rows]
        rows = [("  elapsed", *cells) if name == "  step" else (name, *cells) for name, *cells in rows]
    lines += ["", *Table(HEADINGS, tuple(rows)).lines, ""]
    of_what = "the whole run" if before.is_whole else "one step"
    lines += [f"times: of {of_what}, mean over ranks; x: times as much"]
    tested = {_tested(row) for row in comparison.rows}
    lines += [words for answer, words in (("yes", YES), ("perhaps", MAYBE)) if answer in tested]
    if len(regions) > MOST_REGIONS:
        lines.append(f"{len(regions) - MOST_REGIONS} more regions changed less; --json lists all")
    lines += [f"note: {note}" for note in notes]
    return lines


def _about(side: Measured) -> str:
    if side.is_whole:
        return f"{side.name}, {counted(side.n_ranks, 'rank')}, no steps"
    n_steps = side.count(side.compared)
    left_out = side.count(side.chosen & ~side.compared)
    apart = f"; {left_out} that write output are left out" if left_out else ""
    return f"{side.name}, {counted(side.n_ranks, 'rank')}, {counted(n_steps, 'step')}{apart}"


def _cells(row: Row) -> tuple[str, ...]:
    change = row.change
    difference, interval = _difference(row)
    return (
        f"  {row.words}",
        _amount(row, change.before),
        _amount(row, change.after),
        difference,
        interval,
        _tested(row),
    )


def _tested(row: Row) -> str:
    """Whether a change is more than chance: yes, no, or perhaps, where the interval leaves out zero and the
    test of all lines together does not; "" where it was not tested."""
    change = row.change
    if change.chance is None:
        return ""
    if row.beyond_chance:
        return "yes"
    holds_zero = change.low is None or change.high is None or change.low <= 0 <= change.high
    return "no" if holds_zero else "perhaps"


def _difference(row: Row) -> tuple[str, str]:
    """The change and its interval in words: in percent, as a factor where it at least doubles, or in the
    row's unit where it was 0 before."""
    change = row.change
    if row.unit == "%":
        low, high = (None if end is None else in_change(100 * end) for end in (change.low, change.high))
        return f"{in_change(100 * change.difference)} points", _between(low, high, " points")
    if change.share is None:
        low, high = (None if end is None else _more(row, end) for end in (change.low, change.high))
        return _more(row, change.difference), _between(low, high) if low != high else ""
    ends = change.share_low, change.share_high
    if change.share >= 1:
        low, high = (None if end is None else f"{1 + end:.3g}" for end in ends)
        return f"x {1 + change.share:.3g}", _between(low and f"x {low}", high)
    low, high = (None if end is None else in_change(100 * end) for end in ends)
    return f"{in_change(100 * change.share)} %", _between(low, high, " %") if low != high else ""


def _between(low: str | None, high: str | None, unit: str = "") -> str:
    return "" if low is None or high is None else f"{low} to {high}{unit}"


def _more(row: Row, value: float) -> str:
    return f"{'+' if value > 0 else '-' if value < 0 else ''}{_amount(row, abs(value))}"


def _amount(row: Row, value: float) -> str:
    if row.unit == "%":
        return in_percent(value, 3)
    if row.unit == "s":
        return in_seconds(value)
    return in_bytes(value) if row.unit == "B" else in_number(value, 4)


def as_json(comparison: Comparison, notes: list[str]) -> dict[str, Any]:
    """The comparison as plain values; docs/comparing.md explains them."""
    return {
        "verdict": comparison.verdict,
        "before": _side_as_json(comparison.before),
        "after": _side_as_json(comparison.after),
        "rows": [_row_as_json(row) for row in comparison.rows],
        "ranks": [{"rank": one.rank, **_change_as_json(one.change)} for one in comparison.ranks],
        "notes": notes,
    }


def _side_as_json(side: Measured) -> dict[str, Any]:
    return {
        "name": side.name,
        "n_ranks": side.n_ranks,
        "n_steps": side.count(side.compared),
        "output_steps_left_out": side.count(side.chosen & ~side.compared),
    }


def _row_as_json(row: Row) -> dict[str, Any]:
    unit = "1" if row.unit == "%" else row.unit
    found = {"group": row.group, "key": row.key, "words": row.words, "unit": unit, "better": row.better}
    return found | _change_as_json(row.change) | {"beyond_chance": row.beyond_chance}


def _change_as_json(change: Change) -> dict[str, Any]:
    return {
        "before": change.before,
        "after": change.after,
        "difference": change.difference,
        "interval": _pair(change.low, change.high),
        "share": change.share,
        "share_interval": _pair(change.share_low, change.share_high),
        "chance": change.chance,
    }


def _pair(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [low, high]
