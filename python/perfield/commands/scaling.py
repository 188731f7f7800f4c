# SPDX-License-Identifier: BSD-3-Clause
"""perfield scaling: compares runs of one program on different numbers of ranks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import perfield
from perfield.analysis.scaling_words import as_json, region_rows, rows, sentences
from perfield.catalyst_scripts.owned_folder import check_new_file, new_file
from perfield.commands import CommandError
from perfield.text import print_table

if TYPE_CHECKING:
    from perfield.analysis.scaling import Scaling

HELP = "compare runs of different numbers of ranks: speed-up, efficiency, serial share, memory"
DESCRIPTION = """\
Compares runs of one program on different numbers of ranks, by the median step
that writes no output. Setup counts only where whole runs are named.

  perfield scaling run-1 run-2 run-4 run-8
  perfield scaling run-* --regions
  perfield scaling run-* --output scaling.png

Strong scaling (the same problem for all) gets Amdahl's law, weak scaling (a
problem that grows with the ranks) Gustafson's. Several runs with the same number
of ranks show the scatter. The plot needs matplotlib: pip install 'perfield[report]'."""

FORMATS = (".png", ".svg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the runs, the kind of scaling and what to print."""
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", help="run directories of one program")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--strong", action="store_true", help="the problem is the same in all runs")
    kind.add_argument("--weak", action="store_true", help="the problem grows with the number of ranks")
    add("--regions", action="store_true", help="a second table: how each region scales")
    add("--json", action="store_true", help="print everything as one JSON object")
    add("-o", "--output", metavar="FILE", help="draw it: a .png or .svg file")


def execute(arguments: argparse.Namespace) -> int:
    """Prints sentences and tables, or JSON, and draws the plot."""
    from perfield.analysis.scaling_laws import STRONG, WEAK
    from perfield.derived.scaling import scaling_of

    if arguments.output and Path(arguments.output).suffix.lower() not in FORMATS:
        raise CommandError(
            f"--output {arguments.output} is not a picture; expected a name that ends in .png or .svg."
        )
    check_new_file(arguments.output)
    kind = STRONG if arguments.strong else WEAK if arguments.weak else None
    found = scaling_of([perfield.open(path) for path in arguments.runs], kind)
    if arguments.json:
        print(json.dumps({"runs": arguments.runs, **as_json(found)}, indent=1, allow_nan=False))
    else:
        _print(found, arguments.regions)
    if arguments.output:
        from perfield.plots.speedup import draw

        with new_file(arguments.output) as place:
            draw(found).savefig(place)
        if not arguments.json:
            print(f"\n  {arguments.output}")
    return 0


def _print(found: Scaling, by_region: bool) -> None:

    print("\n".join(sentences(found)))
    print()
    print_table(rows(found))
    if by_region:
        print()
        print_table(region_rows(found)) if found.regions else print("The runs have no regions.")
