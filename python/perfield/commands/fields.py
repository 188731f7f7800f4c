# SPDX-License-Identifier: BSD-3-Clause
"""perfield fields: lists all fields that a run can have, or those of one run."""

from __future__ import annotations

import argparse

from perfield.text import print_table

HELP = "list the fields: what perfield measures per rank and step"
DESCRIPTION = """\
Lists all fields with their units and meanings; with a run, only its own.

  perfield fields
  perfield fields perfield-run"""

INTRODUCTION = """\
# Fields

A field is one number per rank and step. Frames hold fields, pictures show them, and `perfield_values` returns
them to the program itself. `<region>` stands for each region of the run, with its name as an identifier;
`<call>` stands for each MPI call that moved messages.

- *over steps* says how the steps of one entry combine (`sum_every`, a run without steps). `again`: the field
  is computed again, from the sums of its parts.
- *over threads* says how the threads of a rank combine. `longest`, `shortest`: the thread with the largest or
  smallest value; `mean`: over the threads that were in the region; `process`: the value belongs to the whole
  process. Counts add up over threads: a loop that 4 threads share has 4 entries. Times in regions do not, so
  they stay below the step's time.
- *absent* says when the field is NaN, which means unknown. 0 means that nothing happened.

Where the program describes its mesh, or has a Catalyst or Ascent adaptor, a run also has the quantities
`cells`, `points` and `ghost_cells`: how many of each the rank's piece has, in all its blocks. Ghosts do not
count as cells or points. A mesh that stays keeps its numbers; a rank without a mesh has none (NaN).

Pictures of the mesh add `compute_time_per_cell_s` and, for each region, `<region>_compute_time_per_cell_s`:
compute time divided by the cells that the picture shows of the rank (or of the block, for a block's own
time), without ghosts.

For each rank f in `focus_ranks`, pictures of the mesh, made afterwards or inside the program, add what each
rank exchanged with f. The name is that of a field and a direction: `sent_count_to_<f>`, `sent_bytes_to_<f>`,
`<call>_count_to_<f>` and `<call>_bytes_to_<f>` are what the rank sent to f, and `..._from_<f>` what f sent to
it. Data that f fetched (`get`) were sent to f. `received_count_from_<f>` and `received_bytes_from_<f>` are
what arrived from f by receive calls, maybe in a later step. They are NaN where there was nothing. To the
program itself (`perfield_values`, `attach`), each rank gives those that it counts alone: what it sent, put,
fetched and received. It does not know what f fetched from it, so its `sent_..._to_<f>` do not contain that.

A region's name becomes a field name by one rule (`bridge/fields/fields.cpp`), for the program and for Python:
- Every character that is not a letter, digit or underscore becomes `_`. A leading digit gets `_` before it.
- A name that perfield uses itself gets `region_` before it.
- Two regions whose names become the same get `_2`, `_3`.

The array keeps the original name beside the new one. The simulation's own fields follow the same rule
(`alpha.water` is the array `alpha_water`), with `own_` before a name that perfield uses itself.

The table is `bridge/fields/fields.def`. To add a field, add a row. If its value needs a new sum, declare
that in `RankSums`, `MessageSums` or `RegionSums` (`columns.hpp` beside it) and add it up in `columns.cpp`.
The words in the columns of the table only describe what that code does. Then regenerate this page:
`perfield fields --markdown > docs/fields.md`.
"""

WAITS_INTRODUCTION = """
## Fields of wait states
These need what all ranks did in a step, so they are computed when a run is read, and only for those who ask:
`perfield render --fields caused_wait_time_s`, or in Python the frames of `run.with_wait_states()`. A program
does not see them (`perfield_values`). [waiting.md](waiting.md) explains them, and what "at least" means here.
The table is `python/perfield/fields/waits.py`.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run and the choice of layout."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run directory (default: list all fields)")
    parser.add_argument("--markdown", action="store_true", help="print docs/fields.md")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the list."""
    from perfield.fields import table as fields
    from perfield.fields.waits import WAIT_FIELDS

    if arguments.markdown:
        print(INTRODUCTION)
        print(fields.as_markdown())
        print(WAITS_INTRODUCTION)
        print(fields.as_markdown(WAIT_FIELDS))
        return 0
    shown = (*fields.FIELDS, *WAIT_FIELDS)
    if arguments.run:
        import perfield

        run = perfield.open(arguments.run)
        of_waits = [f for f in WAIT_FIELDS if run.columns.stems or "<region>" not in f.name]
        shown = (*run.columns.kinds.values(), *(of_waits if run.tells_arrivals.any() else ()))
    print_table([{"field": f.name, "unit": f.unit, "meaning": f.meaning} for f in shown])
    return 0
