# SPDX-License-Identifier: BSD-3-Clause
"""perfield compare: what changed between two runs, or between two steps of one, and whether by chance."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfield.analysis.comparing.table import REGIONS
from perfield.commands import CommandError
from perfield.commands._chosen import AUTO, short_names
from perfield.commands._comparison_pictures import Pictured, draw_comparison
from perfield.commands._looks import check_places
from perfield.commands._mesh import add_mesh_options
from perfield.commands._regime_comparison import compare_by_regimes
from perfield.text import (
    Table,
    counted,
    first_of,
    in_bytes,
    in_change,
    in_number,
    in_percent,
    in_seconds,
    plain,
)

if TYPE_CHECKING:
    from perfield.analysis.comparing import Change, Comparison, Measured, Row
    from perfield.run import RunDirectory

HELP = "what changed between two runs, or two steps of one, and whether by chance"
DESCRIPTION = """\
Compares two runs, before and after a change, or an ordinary step with an output
step of one run. Prints what changed, and how sure that is.

  perfield compare before after
  perfield compare before after --steps 10:200       these steps of both
  perfield compare perfield-run --steps 120 121      two steps of one run
  perfield compare perfield-run --steps 0:50 50:100  its first and second half
  perfield compare before after --images             pictures of both and of the change
  perfield compare before after --regimes            within the same regimes of the machine

Steps that write output are left out and compared apart."""

IMAGES_HELP = """\
also draw a field before, after and as difference, on the mesh and on the machine, and the messages
between ranks; with .pvd files of the same for ParaView"""
FIELD_HELP = "what pictures show (compute_time_s), or what --regimes compares (the time of the step)"
REGIMES_HELP = """\
compare the longest time of all ranks in each step, regime by regime: how many regimes, or auto
(auto); see perfield regimes"""
COST = "compute_time_s"
MOST_REGIONS = 20
YES = "yes: chance makes any such line with a probability of at most 1 %, and the step's likewise"
STEPS_HELP = """\
of two runs, the steps to compare; of one run, the steps before and the steps after: frame numbers
from 0 and ranges, as for render (120, 10:200, 0:100:5)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the runs and the steps."""
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", help="two run directories, or one and --steps")
    add("--steps", metavar="STEPS", nargs="+", help=STEPS_HELP)
    add("--anyway", action="store_true", help="compare runs of different programs or regions, too")
    add("--images", action="store_true", help=IMAGES_HELP)
    add("--field", metavar="NAME", help=FIELD_HELP)
    add("--regimes", metavar="N", nargs="?", const=AUTO, help=REGIMES_HELP)
    add_mesh_options(parser)
    add("-o", "--output", metavar="DIR", help="where to write them (pictures/compared-with-NAME of the run)")
    add("--json", action="store_true", help="print everything as one JSON object")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the comparison, and writes its pictures."""
    from perfield.analysis.comparing import compare

    if arguments.regimes is not None:
        return compare_by_regimes(arguments)
    if arguments.images:
        check_places(_place(arguments), None if arguments.output else arguments.runs[-1])
    runs, (before, after), notes = _sides(arguments)
    comparison = compare(before, after)
    notes += [*before.left_out, *(note for note in after.left_out if note not in before.left_out)]
    if not arguments.json:
        print("\n".join(in_words(comparison, notes)), flush=True)  # drawing takes a while
    pictured = Pictured([], [])
    if arguments.images:
        pictured = draw_comparison(
            runs, (before, after), arguments.field or COST, _place(arguments), arguments
        )
    if arguments.json:
        told = as_json(comparison, notes + pictured.notes) | {"files": list(map(str, pictured.files))}
        print(json.dumps(plain(told), indent=1, allow_nan=False))
    else:
        print("".join(f"note: {note}\n" for note in pictured.notes), end="")
        print("".join(f"  {file}\n" for file in pictured.files), end="")
    return 0


def _place(arguments: argparse.Namespace) -> Path:
    """Where pictures go."""
    if arguments.output:
        return Path(arguments.output)
    run = Path(arguments.runs[-1])
    other = Path(arguments.runs[0]).resolve().name if len(arguments.runs) == 2 else "-".join(arguments.steps)
    name = re.sub(r"[^\w.-]", "_", f"compared-with-{other}" if len(arguments.runs) == 2 else f"steps-{other}")
    return run / "pictures" / name[:100]


def _sides(
    arguments: argparse.Namespace,
) -> tuple[tuple[RunDirectory, RunDirectory], tuple[Measured, Measured], list[str]]:
    """The runs of both sides, what of them is compared, and what else differs.

    Raises CommandError, RunError or StepsError.
    """
    import perfield
    from perfield.derived.comparing import measured
    from perfield.derived.matching import check, differences

    steps = arguments.steps or []
    if len(arguments.runs) > 2:
        raise CommandError(f"expected one run or two, but found {len(arguments.runs)}.")
    runs = [perfield.open(path) for path in arguments.runs]
    if len(runs) == 1:
        if len(steps) != 2:
            raise CommandError(
                f"{runs[0].path} alone can be compared only with itself; name a second run, or two steps of "
                f"this one: perfield compare {runs[0].path} --steps 120 121"
            )
        sides = _steps_of(runs[0], steps)
        return (runs[0], runs[0]), sides, list(_about_steps(*sides))
    if len(steps) > 1:
        raise CommandError(
            f"--steps {' '.join(steps)}: two runs are compared over the same steps; give one expression: "
            f"--steps {steps[0]}"
        )
    names = short_names(arguments.runs)
    check(*runs, names, arguments.anyway)
    before, after = (measured(run, name) for run, name in zip(runs, names))
    if steps:
        before, after = (
            _only(side, _positions(run, steps[0]), side.name) for run, side in zip(runs, (before, after))
        )
    return (runs[0], runs[1]), (before, after), list(differences(*runs, names))


def _steps_of(run: RunDirectory, steps: list[str]) -> tuple[Measured, Measured]:
    from perfield.derived.comparing import measured

    chosen = [_positions(run, text) for text in steps]
    if chosen[0] == chosen[1]:
        raise CommandError(f"--steps {' '.join(steps)} names the same steps twice; choose others.")
    whole = measured(run, "")
    before, after = (_only(whole, some, _step_name(run, some)) for some in chosen)
    return before, after


def _about_steps(before: Measured, after: Measured) -> Iterable[str]:
    """Sentences on two sides of one run: which single step writes output, and what is on both sides."""
    for side in (before, after):
        if side.is_single and side.is_output[side.chosen].any():
            yield f"{side.name} writes output"
    if (before.chosen & after.chosen).any():
        yield f"{int((before.chosen & after.chosen).sum())} steps are on both sides"


def _positions(run: RunDirectory, text: str) -> list[int]:
    from perfield.output.steps import choose_steps

    return choose_steps(run, text)


def _only(side: Measured, positions: list[int], name: str) -> Measured:
    found = side.of(name or side.name, positions)
    if not found.chosen.any():
        some = first_of(positions, 5)
        raise CommandError(
            f"not all ranks did the same in frames {some}; choose others, or see `perfield info --steps`."
        )
    return found


def _step_name(run: RunDirectory, positions: list[int]) -> str:
    """A step, or several, in words: the program's own numbers, and the frames where these differ."""
    labels = [int(run.told(end)["label"]) for end in (positions[0], positions[-1])]
    one = len(positions) == 1
    frames = f"{positions[0]}" if one else f"{positions[0]} to {positions[-1]}"
    numbers = f"{labels[0]}" if one else f"{labels[0]} to {labels[1]}"
    apart = f" (frame{'' if one else 's'} {frames})" if labels != [positions[0], positions[-1]] else ""
    return f"step{'' if one else 's'} {numbers}{apart}"


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
    lines += ["", *Table(HEADINGS, tuple(rows)).lines, ""]
    lines += ["times: of one step, mean over ranks; x: times as much;", YES]
    if len(regions) > MOST_REGIONS:
        lines.append(f"{len(regions) - MOST_REGIONS} more regions changed less; --json lists all")
    lines += [f"note: {note}" for note in notes]
    return lines


def _about(side: Measured) -> str:
    n_steps = side.count(side.compared)
    left_out = side.count(side.chosen & ~side.compared)
    apart = f"; {left_out} that write output are left out" if left_out else ""
    return f"{side.name}, {counted(side.n_ranks, 'rank')}, {counted(n_steps, 'step')}{apart}"


def _cells(row: Row) -> tuple[str, ...]:
    change = row.change
    tested = "" if change.chance is None else "yes" if row.beyond_chance else "no"
    difference, interval = _difference(row)
    return (
        f"  {row.words}",
        _amount(row, change.before),
        _amount(row, change.after),
        difference,
        interval,
        tested,
    )


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
    told = {"group": row.group, "key": row.key, "words": row.words, "unit": unit, "better": row.better}
    return told | _change_as_json(row.change) | {"beyond_chance": row.beyond_chance}


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
