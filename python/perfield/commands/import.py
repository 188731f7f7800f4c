# SPDX-License-Identifier: BSD-3-Clause
"""perfield import: turns a Score-P trace into a run directory."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from perfield.commands import words
from perfield.commands.paths import own_command
from perfield.text import counted
from perfield.text.terminal import Progress

if TYPE_CHECKING:
    from perfield.traces import Imported

HELP = "turn a Score-P trace (OTF2) into a run directory"
DESCRIPTION = """\
Reads a Score-P trace (OTF2) and writes a run directory, which all other commands
read: regions, messages between world ranks, MPI time, waiting and file I/O, step
by step.

  perfield import scorep-traces/traces.otf2 --step-region time_step_loop_body
  perfield import traces.otf2 --step-region advance --only 'flux_*,solve' -o old-run
  perfield info perfield-run

Without --step-region the run is one frame, and perfield lists regions that could
close steps. Needs the Python module otf2 (Debian: python3-otf2)."""

_MOST_NOTES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the trace, the choice of its regions, and the target."""
    add = parser.add_argument
    add("trace", metavar="TRACE", help="the trace's anchor file, traces.otf2")
    add(
        "--step-region",
        metavar="NAME",
        help="the region that closes a step when the program leaves it (default: as configured)",
    )
    add(
        "--only",
        metavar="NAMES",
        help="names or globs of the regions to keep: 'flux_*,solve' (default: all)",
    )
    add("-o", "--run-directory", metavar="DIR", help="where to write the run (perfield-run)")


def execute(arguments: argparse.Namespace) -> int:
    """Imports the trace and prints a summary."""
    from perfield.traces import import_trace

    regions = arguments.only
    with Progress("reading events", None) as progress:
        imported = import_trace(
            arguments.trace,
            arguments.run_directory,
            step_region=arguments.step_region,
            regions=None if regions is None else words(regions),
            progress=progress.advance_to,
        )
    _print(imported)
    return 0


def _print(imported: Imported) -> None:
    shown = imported.notes[:_MOST_NOTES]
    more = len(imported.notes) - len(shown)
    for note in shown + [f"and {more} more such notes"] * bool(more):
        print(f"perfield import: {note}", file=sys.stderr)
    speed = imported.n_events / max(imported.seconds, 1e-9)
    ranks = counted(imported.n_ranks, "rank")
    steps = counted(imported.n_steps, "step") if imported.n_steps else "no steps"
    print(
        f"{imported.path}: {steps} on {ranks}, from {imported.n_events} events in {imported.seconds:.1f} s "
        f"({speed:.0f} per s)"
    )
    if not imported.n_steps:
        print("no step was closed: the one frame covers the whole trace, from start to end")
        likely = ", ".join(f"{name} ({count} times)" for name, count in imported.candidates)
        if likely:
            print(f"regions that could close steps (--step-region), longest first: {likely}")
    print(f"look at it: {own_command()} open {imported.path}    (in words: info in place of open)")
