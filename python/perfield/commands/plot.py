# SPDX-License-Identifier: BSD-3-Clause
"""perfield plot: draws plots of a whole run with matplotlib, without ParaView."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from perfield.commands import STEPS_HELP, CommandError, words
from perfield.commands._newest import add_run, run_path

if TYPE_CHECKING:
    from perfield.run import RunDirectory

HELP = "draw plots of a whole run, without ParaView"
DESCRIPTION = """\
Draws plots of all steps, to RUN/pictures/plots:

  imbalance   compute time, slowest rank over mean, and the seconds behind it, by step
  heat_map    a field of each rank in each step, and how long the rank waits, beside it
  messages    the bytes that each rank sent to each other
  regions     where the time of a step goes, and what balancing each region would save

  perfield plot perfield-run
  perfield plot perfield-run --only heat_map --field solve_compute_time_s
  perfield plot perfield-run --only messages --steps 10:200 -o messages.svg

In a notebook: perfield.plots.heat_map(perfield.open("perfield-run"), "compute_time_s").
Needs the package matplotlib: pip install 'perfield[plot]'."""

FORMATS = ("png", "svg")
PLOTS = ("imbalance", "heat_map", "messages", "regions")  # of perfield.plots.figures, which loads matplotlib


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, which plots, and the target."""
    add_run(parser)
    add = parser.add_argument
    add("--only", metavar="PLOTS", help=f"only these, of {','.join(PLOTS)}")
    add("--field", metavar="NAME", default="compute_time_s", help="of the heat map (compute_time_s)")
    add("--steps", metavar="STEPS", default="all", help=STEPS_HELP)
    add("--format", choices=FORMATS, help="of the files (png)")
    add("-o", "--output", metavar="PATH", help="a folder, or the file of a single plot: heat.svg")


def execute(arguments: argparse.Namespace) -> int:
    """Draws the plots and prints their files; a plot without data is left out in a sentence."""
    import perfield
    from perfield.output.steps import choose_steps
    from perfield.plots.figures import FIGURES, new_figure
    from perfield.plots.style import PlotError, known_field

    names = _names(arguments.only)
    run = perfield.open(run_path(arguments.run))
    known_field(run, arguments.field)
    steps = run.step_indexes[choose_steps(run, arguments.steps)]
    files = _files(arguments, run, names)
    for name, file in files.items():
        try:
            figure = new_figure()
            FIGURES[name](run, steps, figure, arguments.field)
        except PlotError as error:
            if len(files) == 1:
                raise
            print(f"  no plot {name}: {error}")
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file)
        print(f"  {file}")
    return 0


def _names(only: str | None) -> list[str]:
    if only is None:
        return list(PLOTS)
    names = [word.replace("-", "_") for word in words(only)]
    for name in names:
        if name not in PLOTS:
            raise CommandError(f"--only {name} is no plot; expected some of {','.join(PLOTS)}.")
    return names


def _files(arguments: argparse.Namespace, run: RunDirectory, names: list[str]) -> dict[str, Path]:
    """The file of each plot."""
    target = Path(arguments.output) if arguments.output else Path(run.path, "pictures", "plots")
    ending = target.suffix[1:].lower()
    if not target.is_dir() and arguments.output and (ending in FORMATS or (ending and len(names) == 1)):
        if ending not in FORMATS:
            raise CommandError(f"{target} ends in .{ending}; expected .png or .svg, or the name of a folder.")
        if len(names) != 1:
            raise CommandError(
                f"{target} is one file, but {len(names)} plots are to be drawn; choose one with --only, or "
                "name a folder."
            )
        if arguments.format not in (None, ending):
            raise CommandError(f"{target} ends in .{ending}, but --format says {arguments.format}.")
        return {names[0]: target}
    stems = {name: f"{name}_{arguments.field}" if name == "heat_map" else name for name in names}
    return {name: target / f"{stem}.{arguments.format or 'png'}" for name, stem in stems.items()}
