# SPDX-License-Identifier: BSD-3-Clause
"""perfield fields: lists all fields that a run can have, or those of one run."""

from __future__ import annotations

import argparse
import json

import perfield
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

The table is `bridge/fields/fields.def`. To add a field that C++ computes, add a row. If its value needs a new
sum, declare that in `RankSums`, `MessageSums` or `RegionSums` (`columns.hpp` beside it) and add it up in
`columns.cpp`. The words in the columns of the table only describe what that code does. Then regenerate this
page: `perfield fields --markdown > docs/fields.md`.
"""

COMPUTED_INTRODUCTION = """
## Fields of analyses
These are computed when a run is read, and only when somebody asks for them by name: `--fields` of `perfield
render` and `export`, `--field` of `plot` and `compare`, the list of `perfield serve`, ParaView's reader,
`--fields` of `perfield follow`, and in Python `run.values(names, positions)`, the Dataset `run.steps` and the
frames of `run.with_fields(names)`. A program does not see them (`perfield_values`). Each comes from a
*provider*, a module in `python/perfield/derived/providers/`. [waiting.md](waiting.md) explains the fields of
waiting, and what "at least" means here, [regimes.md](regimes.md) those of regimes, [rhythm.md](rhythm.md)
those of the rhythm, and [functions.md](functions.md) those of functions.

Fields of regimes, rhythm and functions take all steps at once. So `run.steps` and exports have only those
that are named (`run.with_fields(names).steps`), and `perfield serve` lists them once the run has ended. A run
has a field for each function that matters; `perfield fields RUN` lists them.
"""

YOUR_OWN = """
## A field of your own
A Python package adds fields to every run. This is all of `my_fields.py`:
```python
from perfield import provided


@provided(unit="B", meaning="bytes sent for each cell of the rank", needs=("sent_bytes", "cells"))
def sent_bytes_per_cell(run, positions):
    sent, cells = run.values(["sent_bytes", "cells"], positions).swapaxes(0, 1)
    return sent / cells
```
and this names it in the package's `pyproject.toml`:
```toml
[project.entry-points."perfield.fields"]
my_fields = "my_fields:sent_bytes_per_cell"
```
The function gets the run and positions of frames, and returns float64 (n_positions, n_ranks), NaN where
absent. A run has the field if it has all that it `needs`. `over_steps="sum"` (the default) says that values
of steps add up, so pictures divide those of longer frames; others take `over_steps="none"`. A class of
`Provider` in place of the function gives several fields that are computed together.

A field of perfield itself is a module in `python/perfield/derived/providers/` with such a function, whose
PROVIDER is the function. `load.py` there is the smallest one.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run and the forms of the output."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run directory (default: list all fields)")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--markdown", action="store_true", help="print docs/fields.md")
    forms.add_argument("--json", action="store_true", help="print everything as one JSON object")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the list."""
    from perfield.derived.providers import provider_classes
    from perfield.fields import table as fields

    if arguments.markdown:
        print(INTRODUCTION)
        print(fields.as_markdown())
        print(COMPUTED_INTRODUCTION)
        own = (kind for kind in provider_classes()[1:] if kind.__module__.startswith("perfield."))
        print(fields.as_markdown(field for kind in own for field in kind.gives))
        print(YOUR_OWN)
        return 0
    shown = [field for kind in provider_classes() for field in kind.gives]
    if arguments.run:
        shown = perfield.open(arguments.run).all_fields.all_kinds.values()
    rows = [{"field": f.name, "unit": f.unit, "meaning": f.meaning} for f in shown]
    if arguments.json:
        print(json.dumps({"run": arguments.run, "fields": rows}, indent=1))
        return 0
    print_table(rows)
    return 0
