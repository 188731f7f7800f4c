# SPDX-License-Identifier: BSD-3-Clause
"""perfield info: shows a run so far, as lines, tables or JSON."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any

from perfield import _bridge
from perfield.commands import words
from perfield.commands._chosen import add_span, chosen_ranks, opened, row_number
from perfield.commands._mesh import add_mesh_options, mesh_line
from perfield.commands._newest import add_run, run_path
from perfield.commands.paths import own_command
from perfield.text import counted, in_whole_percent, print_table
from perfield.text.terminal import print_labelled

if TYPE_CHECKING:
    from os import PathLike

    from perfield.derived.run import Run

NAME = "info"
HELP = "show what was measured, also while the program runs"
DESCRIPTION = """\
Prints the summary of a run again, or tables. The run may be finished, killed or
still running.

  perfield info perfield-run
  perfield info perfield-run --ranks 0-7 --messages
  perfield info perfield-run --by switch --fields compute_time_s,mpi_time_s
  perfield info perfield-run --steps 100: --rows 50 --json"""

LEVELS = ("node", "switch", "package", "numa", "core", "step")
BY_HELP = """\
a row for each part of the machine, the largest mean first, or for each step: min, mean, std, max and
imbalance of its ranks"""
EACH_RANK_HELP = "a row for each rank, or for these (0-7,12): host, CPUs, steps, state"
STEPS_HELP = "a row for each of the newest steps, or of these: 0,10,20:50:5"
WAITS_HELP = """\
why ranks wait: how much of the time in MPI is explained, which ranks cost the others most, and the
longest waits: who waits for whom, and why. docs/waiting.md explains the kinds"""
ROWS = {"steps": 20, "messages": 10, "waits": 10, "functions": 20, "by": 20}  # of the tables
ROWS_HELP = "at most N rows in each table (default: 10 or 20)"
FUNCTIONS_HELP = "the functions with most CPU time, by samples; see perfield run --sample"

ALL, NEWEST = "all", "newest"  # of --ranks and --steps without a value

# Notes below an empty table: what its emptiness does not mean.
NOTHING = {
    "waits": "MPI_Recv, MPI_Wait and the like show for whom a rank waits; MPI_Waitall and collective calls "
    "do not; the fields mpi_*_time_s show how long it waits",
    "functions": "this run took no samples; `perfield run --sample` does",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run and one option per table."""
    add_run(parser)
    add_span(parser)
    add = parser.add_argument
    add("--ranks", metavar="RANKS", nargs="?", const=ALL, help=EACH_RANK_HELP)
    add(
        "--regions",
        action="store_true",
        help="each region: compute time, share of MPI, imbalance, what balancing would save",
    )
    add("--steps", metavar="STEPS", nargs="?", const=NEWEST, help=STEPS_HELP)
    add("--messages", action="store_true", help="the pairs of ranks that exchange most bytes")
    add("--waits", action="store_true", help=WAITS_HELP)
    add("--functions", action="store_true", help=FUNCTIONS_HELP)
    add("--by", choices=LEVELS, help=BY_HELP)
    add("--fields", metavar="NAMES", default="compute_time_s", help="the fields of --by (compute_time_s)")
    add("--topology", action="store_true", help="the machine's parts in pictures: level, id, x, y, z, parent")
    add("--rows", metavar="N", type=row_number, help=ROWS_HELP)
    add_mesh_options(parser)
    add("--json", action="store_true", help="print everything as one JSON object")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the summary, or the tables that the options name."""
    run = opened(run_path(arguments.run), arguments.span)
    tables, headings, notes = _tables(run, arguments)
    if arguments.json:
        facts = {"run": str(run.path), "state": run.state, "n_ranks": run.n_ranks, "n_frames": len(run)}
        facts |= {"command": run.info.get("command"), "lines": summary_of(run.path), "damage": run.damage}
        facts["clocks"] = run.clocks_agree
        print(json.dumps(facts | tables, indent=1, default=_plain, allow_nan=False))
        return 0
    if not tables:
        agree = [f"clocks     {run.clocks_agree}"] if run.clocks_agree else []
        mesh = mesh_line(run, arguments)
        print(_title(run))
        print_labelled([*summary_of(run.path), *agree, *mesh, *_damage_lines(run.damage)])
    for number, (name, rows) in enumerate(tables.items()):
        if number or len(tables) > 1:
            print(("\n" if number else "") + name)
        if headings.get(name) and (rows or name == "wait_causes"):
            print(headings[name])
        columns = _columns(run, name, arguments)
        hidden = ("frame", "in_frame")
        print_table([{columns.get(key, key): row[key] for key in row if key not in hidden} for row in rows])
        below = notes if rows else NOTHING
        if below.get(name):
            print(f"({below[name]})")
    return 0


def summary_of(path: str | PathLike[str]) -> list[str]:
    """The lines of a run's summary: slowest ranks and why, steps, waiting, messages, own cost, and next."""
    begin = "next       perfield "
    return [
        f"next       {own_command()} {line[len(begin) :]}" if line.startswith(begin) else line
        for line in _bridge.summary_lines(os.fsencode(path))
    ]


def _tables(
    run: Run, arguments: argparse.Namespace
) -> tuple[dict[str, list[dict]], dict[str, str], dict[str, str]]:
    """The tables that the options name, the heading above each, and the note below it."""
    from perfield.derived import tables
    from perfield.derived.threads import with_threads

    found, headings, notes = {}, {}, {}
    newest = min(len(run), tables.MOST_FRAMES)
    frames = counted(newest, "frame")
    if newest < len(run):
        frames = f"the newest {frames} of {len(run)}"
    if arguments.ranks is not None:
        chosen = None if arguments.ranks == ALL else chosen_ranks(arguments.ranks)
        found["ranks"] = [row for row in tables.ranks(run) if chosen is None or row["rank"] in chosen]
    if arguments.regions:
        found["regions"] = with_threads(run, tables.regions(run))
        notes["regions"] = (
            f"compute_time_s, mean_time_s: per frame and rank that entered it, over {frames};\n"
            "mpi_share: of its time; step_share: of all ranks' steps; imbalance: largest rank over mean;\n"
            f"balancing_saves_s: largest rank minus mean of compute time, added up over {frames}"
            + _without_steps(run)
            + "".join(f"\n{line}" for line in summary_of(run.path) if line.startswith("uneven "))
        )
        found_paths, n_paths = tables.paths(run)
        if found_paths:
            found["paths"] = found_paths
            shown = f"{len(found_paths)} of {n_paths} paths" if len(found_paths) < n_paths else "the paths"
            notes["paths"] = (
                f"{shown} of regions that were entered inside several ones: solve < pEqn is solve\n"
                "inside pEqn; columns as above, of all threads together"
            )
    if arguments.steps is not None:
        found["steps"], notes["steps"] = _steps(run, arguments.steps, arguments.rows)
    if arguments.messages:
        found["messages"], n_pairs = tables.messages(run, arguments.rows or ROWS["messages"])
        shown = len(found["messages"])
        notes["messages"] = f"{shown} of {n_pairs} pairs, by bytes; added up over {frames}"
    if arguments.waits and run.has_arrivals.any():
        _wait_states(run, arguments, found, headings, notes, frames)
    elif arguments.waits:
        found["waits"], n_pairs, covered = tables.waits(run, arguments.rows or ROWS["waits"])
        shown = len(found["waits"])
        notes["waits"] = f"{shown} of {n_pairs} pairs, by time; share: of the rank's time, over {frames}"
        headings["waits"] = _coverage(covered)
    if arguments.functions:
        most = arguments.rows or ROWS["functions"]
        found["functions"], sentences = tables.functions(run, most)
        headings["functions"] = "\n".join(sentences)
        notes["functions"] = (
            "time_s: CPU time in user mode, of all ranks and threads; share: of all of it; error: one\n"
            "standard deviation of the share; imbalance: largest rank over mean; rank: with most;\n"
            "count: of samples"
        )
        in_regions = tables.functions_in_regions(run, max(most, ROWS["functions"]))
        if in_regions:
            found["functions_in_regions"] = in_regions
            notes["functions_in_regions"] = (
                "the same by the region in which they ran, or no region; share, error: of the region's\n"
                "samples; of_all: of all samples"
            )
    if arguments.by:
        found |= _by(run, arguments, notes, frames)
    if arguments.topology:
        from perfield.pictures import topology_table

        columns = ("level", "id", "x", "y", "z", "parent")
        found["topology"] = [dict(zip(columns, row)) for row in topology_table(run)]
    return found, headings, notes


def _steps(run: Run, wanted: str, most: int | None) -> tuple[list[dict], str]:
    """The table of --steps, and the note below it. wanted : NEWEST, or as of --steps."""
    from perfield.derived import tables
    from perfield.output.steps import choose_steps

    if wanted == NEWEST:
        chosen, most = range(len(run)), most or ROWS["steps"]
    else:
        chosen = choose_steps(run, wanted)
    shown = chosen[-most:] if most else chosen
    note = "longest, mean: of the step; imbalance, slowest_rank: of compute time"
    if len(shown) < len(chosen):
        note = f"the newest {len(shown)} of {len(chosen):,} steps; --rows N shows more;\n{note}"
    return tables.steps(run, shown), note + _without_steps(run)


def _without_steps(run: Run) -> str:
    is_whole = len(run) and run.frame(-1).kind == "whole"
    return ";\nno step was closed: the one frame covers the whole run, from start to end" * bool(is_whole)


def _wait_states(
    run: Run,
    arguments: argparse.Namespace,
    found: dict[str, Any],
    headings: dict[str, str],
    notes: dict[str, str],
    frames: str,
) -> None:
    """Adds the tables of wait states, the sentences above the first, and the notes below each."""
    from perfield.derived import tables

    shown, sentences, numbers, n_pairs = tables.wait_states(run, arguments.rows or ROWS["waits"])
    for name in ("wait_causes", "wait_regions", "waits", "path", "transfers"):
        if shown[name] or arguments.json or name in ("wait_causes", "waits"):
            found[name] = shown[name]
    headings["wait_causes"] = "\n".join(sentences)
    notes["wait_causes"] = (
        "caused_s: others' waiting that begins on this rank; share: of the time of all ranks;\n"
        "waits_s: its own; through: the rank that waits longest for it, why, how long, in how many steps;\n"
        f"over {frames}"
    )
    notes["wait_regions"] = (
        "in which region that waiting begins; share: of what the rank costs. An estimate, by the sums of\n"
        "each step: it is not known when in a step a region ran. other reasons: the rank communicated\n"
        "longer, or the reason is not known"
    )
    if any("function" in row for row in shown["wait_regions"]):
        notes["wait_regions"] = (
            "in which function that waiting begins, by the samples of all these steps, as the run has no\n"
            "regions; share: of what the rank costs. not in user mode: it was longer in the kernel, blocked\n"
            "or without a processor. other reasons: it communicated longer, or the reason is not known"
        )
    notes["path"] = (
        "the critical path: whose work decides how long steps take; path_s, share: of the logged steps;\n"
        f"of_run_s: over {frames}, if they are all like these"
    )
    notes["transfers"] = (
        "once nobody is late; count: messages that came while the receiver waited, and alone, or members\n"
        "of operations; baseline_s: the fastest tenth took no longer; gb_per_s: at that; time_s: of all\n"
        "calls that are known; slow_s: of that, beyond the baseline; - where fewer than 20 are known, or\n"
        "clocks are too uncertain"
    )
    notes["waits"] = (
        f"{len(shown['waits'])} of {n_pairs} pairs and kinds, by time; share: of the rank's time,\n"
        f"over {frames}; how: exact, or at least so much; - where no rank can be named"
    )
    if arguments.json:
        found |= {**numbers, "wait_sentences": sentences}


def _by(run: Run, arguments: argparse.Namespace, notes: dict[str, str], frames: str) -> dict[str, list[dict]]:
    """A table of statistics per field, and the note below each. frames : of the tables, in words."""
    from perfield.derived import statistics_tables

    found = {}
    for name in words(arguments.fields):
        table = f"{name} by {arguments.by}"
        rows, uneven = statistics_tables.by(run, name, arguments.by)
        about = (
            "over the ranks of each step"
            if arguments.by == "step"
            else f"over the group's ranks, as the mean over {frames}"
        )
        notes[table] = f"{name}: min, mean, std, max {about}; imbalance: max over mean"
        if uneven:
            notes[table] += (
                f";\nuneven steps, in which ranks may have done different things, are left out: {uneven}"
            )
        most = arguments.rows or (len(rows) if arguments.json else ROWS["by"])
        if len(rows) > most:
            what = "newest steps" if arguments.by == "step" else "groups with the largest means"
            notes[table] += f";\nthe {most} {what}, of {len(rows):,}; --rows N and --json list more"
            rows = rows[-most:] if arguments.by == "step" else rows[:most]
        found[table] = rows
    return found


def _columns(run: Run, table: str, arguments: argparse.Namespace) -> dict[str, str]:
    """What columns of a table are called where it is printed: those of --by with the unit of their field."""
    from perfield.analysis.statistics import STATISTICS
    from perfield.derived.providers import fields_of

    field = table.removesuffix(f" by {arguments.by}")
    unit = fields_of(run)[field].unit if field != table else ""
    return {name: f"{name} ({unit})" for name in STATISTICS if name != "imbalance"} if unit else {}


def _coverage(share: float | None) -> str:
    if share is None:
        return "these waits are an unknown share of all waiting"
    rest = "; the rest names no rank, or is of shorter pairs" if share < 0.995 else ""
    return f"these waits are {in_whole_percent(share)} of all waiting{rest}"


def _title(run: Run) -> str:
    command = " ".join(run.info.get("command", []))
    return f"{run.path}: {run.state}" + (f" ({command})" if command else "")


def _damage_lines(damage: list[str]) -> list[str]:
    shown = [f"damage     {sentence}" for sentence in damage[:5]]
    more = len(damage) - len(shown)
    return shown + ([f"damage     and {more} more: perfield info --json lists all"] if more else [])


def _plain(value: Any) -> Any:
    return value.item()  # NumPy's numbers
