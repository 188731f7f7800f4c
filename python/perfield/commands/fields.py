# SPDX-License-Identifier: BSD-3-Clause
"""perfield fields: every field that a run may have, or those of one run."""

from __future__ import annotations

import argparse

HELP = "list the fields: what perfield measures per rank and step"
DESCRIPTION = """\
Lists all fields with their unit and meaning; with a run, those that it has.

  perfield fields
  perfield fields perfield-run"""

INTRODUCTION = """\
# Fields

A field is one number per rank and step: what a frame holds, what pictures show, and what `perfield_values`
tells the program itself. `<region>` stands for each region of the run, as its name is written in fields;
`<call>` for each MPI call by which a rank sent.

- *over steps* says how a field of several steps adds up (`sum_every`, a run without steps). `again`: it is
  computed from the sums of what it is made of.
- *over threads* says the same of threads. `longest` is the thread with most of it; `process` belongs to the
  whole process.
- *absent* is NaN: not known. 0 means that nothing happened.

The table is `bridge/fields/fields.def`. To add a field, add a row. If its value needs a new sum, add that to
`RankSums` or `RegionSums` in `bridge/fields/columns.cpp`. Then write this page anew:
`perfield fields --markdown > docs/fields.md`.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run and the choice of layout."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run directory; else all fields are listed")
    parser.add_argument("--markdown", action="store_true", help="write the page docs/fields.md")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the list."""
    from perfield.commands.info import format_table
    from perfield.run import fields

    if arguments.markdown:
        print(INTRODUCTION)
        print(fields.as_markdown())
        return 0
    shown = fields.FIELDS
    if arguments.run:
        import perfield

        shown = perfield.open(arguments.run).columns.kinds.values()
    print(format_table([{"field": f.name, "unit": f.unit, "meaning": f.meaning} for f in shown]))
    return 0
