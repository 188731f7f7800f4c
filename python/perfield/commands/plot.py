# SPDX-License-Identifier: BSD-3-Clause
"""perfield plot: draws plots of a whole run with matplotlib, without ParaView."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from perfield import extras
from perfield.catalyst_scripts.owned_folder import OwnedFolder, check_new_file, check_own, new_file
from perfield.commands import STEPS_HELP, CommandError, words
from perfield.commands._chosen import add_span, opened
from perfield.commands._newest import add_run, run_path
from perfield.studies import given, loaded
from perfield.text import printable

if TYPE_CHECKING:
    from perfield.derived.run import Run

HELP = "draw plots of a whole run, without ParaView"
# Of perfield.plots.figures, which loads matplotlib; studies give theirs by themselves.
OWN = {
    "imbalance": "compute time, slowest rank over mean, and the seconds behind it, by step",
    "heat_map": "a field of each rank in each step, and how long the rank waits, beside it",
    "messages": "the bytes that each rank sent to each other",
    "regions": "where the time of a step goes, and what balancing each region would save",
}
OWN_MORE = {  # where --only names them
    "sizes": "messages by size, and the ranks that send most tiny ones",
    "idle_wave": "who waited, step by step, behind the longest delay that travelled",
    "waits": "a logged step as it went: who computed, who waited, for whom and why; without --steps one of "
    "these, in which ranks wait longest",
    "flame": "where the slowest rank's time goes, region in region, and what it spends more than the median "
    "rank; --flame for short",
}


def _all(own: dict[str, str], kind: str) -> dict[str, str]:
    """What plots show by their names, with those of studies."""
    firsts = ((name, (loaded(place).__doc__ or "").partition(".")[0]) for name, place in given(kind).items())
    return own | {name: f"{text[:1].lower()}{' '.join(text[1:].split())}" for name, text in firsts}


PLOTS, MORE_PLOTS = _all(OWN, "FIGURES"), _all(OWN_MORE, "MORE_FIGURES")
FILMS = tuple(given("FILMS"))


def _listed(plots: dict[str, str]) -> str:
    width = max(map(len, plots)) + 4
    return "\n".join(
        textwrap.fill(text, 92, initial_indent=f"  {name}".ljust(width), subsequent_indent=" " * width)
        for name, text in plots.items()
    )


DESCRIPTION = f"""\
Draws plots of all steps, to RUN/pictures/plots:

{_listed(PLOTS)}

and with --only:

{_listed(MORE_PLOTS)}

  perfield plot perfield-run
  perfield plot perfield-run --only heat_map --field solve_compute_time_s
  perfield plot perfield-run --only regimes --field mpi_wait_time_s
  perfield plot perfield-run --only waits --steps 64
  perfield plot perfield-run --only messages --steps 10:200 -o messages.svg
  perfield plot perfield-run --phases circle --reference 0 -o circle.mp4

A film shows phases moment by moment: --phases circle, or matrix, the differences
of all pairs of ranks. A .gif always works; a .mp4 needs ffmpeg.

In a notebook: perfield.plots.heat_map(perfield.open("perfield-run"), "compute_time_s").
Needs the package matplotlib: pip install 'perfield[report]'."""

FORMATS = ("png", "svg")
FIELD = "compute_time_s"  # of the heat map
FIELD_HELP = "of the heat map (compute_time_s), or a field or region in s for regimes (step_time_s)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, which plots, and the target."""
    add_run(parser)
    add_span(parser)
    add = parser.add_argument
    add("--only", metavar="NAMES", help=f"only these, of {','.join([*PLOTS, *MORE_PLOTS])}")
    add("--flame", dest="only", action="store_const", const="flame", help="a flame graph: --only flame")
    add("--rank", metavar="RANK", type=int, help="of the flame graph (the one that computes longest)")
    add("--field", metavar="NAME", help=FIELD_HELP)
    add("--steps", metavar="STEPS", default="all", help=STEPS_HELP)
    add("--to", choices=FORMATS, help="the format (png)")
    add("--phases", choices=FILMS, help="make a film of phases instead")
    add(
        "--reference", metavar="RANK", default="mean", help="of the circle, what does not move: a rank (mean)"
    )
    add("--order", metavar="NAME", help="of ranks in rhythm and films: phase, node_name or group (by rank)")
    add("--frames", metavar="N", type=int, default=100, help="pictures of a film (100)")
    add("-o", "--output", metavar="PATH", help="a folder, or the file of a single plot: heat.svg")


def execute(arguments: argparse.Namespace) -> int:
    """Draws the plots and prints their files; a plot without data is left out in a sentence."""
    from perfield.output.steps import choose_steps
    from perfield.plots.figures import FIGURES
    from perfield.plots.style import PlotError, known_field, new_figure

    names = _names(arguments.only)
    run = opened(run_path(arguments.run), arguments.span)
    if arguments.phases:
        return _film(run, arguments)
    if arguments.field and "heat_map" in names:
        known_field(run, arguments.field)
    steps = run.step_indexes[choose_steps(run, arguments.steps)]
    of_studies = {**given("FIGURES"), **given("MORE_FIGURES")}
    draws = {name: loaded(of_studies[name]) if name in of_studies else FIGURES[name] for name in names}
    files = _files(arguments, run, draws)
    writing = _writing(arguments, run, *files.values())
    for name, file in files.items():
        try:
            figure = new_figure()
            field = arguments.field or (FIELD if name == "heat_map" else "")
            options = {"field": field, "rank": arguments.rank, "order": arguments.order}
            chosen = None if name == "waits" and arguments.steps == "all" else steps
            draw = draws[name]
            draw(run, chosen, figure, **{one: options[one] for one in options if one in _takes(draw)})
        except (PlotError, ModuleNotFoundError) as error:
            if len(files) == 1:
                raise
            why = f"it {extras.words(error)}" if isinstance(error, ImportError) else error
            print(f"  no plot {name}: {why}")
            continue
        with writing(file) as place:
            figure.savefig(place)
        print(f"  {file}")
    return 0


def _takes(draw: Callable[..., None]) -> Collection[str]:
    """Names of what a figure takes."""
    return inspect.signature(draw).parameters


def _writing(
    arguments: argparse.Namespace, run: Run, *files: Path
) -> Callable[[Path], AbstractContextManager[Path]]:
    """What yields where to write a file: the one that the user named, or those of a folder of perfield's.

    Raises NotOursError, before anything is written.
    """
    if arguments.output and Path(arguments.output) in files:
        files[0].parent.mkdir(parents=True, exist_ok=True)
        check_new_file(files[0])
        return new_file
    if not arguments.output:
        check_own(run.path)
    folder = OwnedFolder(files[0].parent, below=None if arguments.output else run.path)
    for file in files:
        folder.check(file.name)
    return lambda file: folder.writing(file.name)


def _film(run: Run, arguments: argparse.Namespace) -> int:
    """Makes a film and prints its file."""
    from perfield.output.steps import choose_steps

    if arguments.only:
        raise CommandError("--phases makes a film and --only chooses plots; give one of them.")
    frame = arguments.reference
    if frame != "mean":
        if not frame.isdigit():
            raise CommandError(f"--reference {frame} is not a rank; expected mean or a rank's number.")
        frame = int(frame)
    steps = run.step_indexes[choose_steps(run, arguments.steps)]
    target = Path(arguments.output or Path(run.path, "pictures", "plots"))
    if target.is_dir() or not target.suffix:
        target = target / f"{arguments.phases}.gif"
    chosen = {"frame": frame, "order": arguments.order, "frames": arguments.frames}
    film = loaded(given("FILMS")[arguments.phases])(run, steps)  # before anything is written
    with _writing(arguments, run, target)(target) as place:
        film(place, **chosen)
    print(f"  {target}")
    return 0


def _names(only: str | None) -> list[str]:
    if only is None:
        return list(PLOTS)
    names = [word.replace("-", "_") for word in words(only)]
    for name in names:
        if name not in PLOTS | MORE_PLOTS:
            known = ",".join(PLOTS | MORE_PLOTS)
            raise CommandError(f"--only {name} is not a plot; expected some of {known}.")
    return names


def _files(
    arguments: argparse.Namespace, run: Run, draws: Mapping[str, Callable[..., None]]
) -> dict[str, Path]:
    """The file of each plot."""
    names = list(draws)
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
        if arguments.to not in (None, ending):
            raise CommandError(f"{target} ends in .{ending}, but --to says {arguments.to}.")
        return {names[0]: target}
    field = printable(arguments.field or "").replace("/", "_")
    fields = {name: field for name in names if "field" in _takes(draws[name])}
    if "heat_map" in fields:
        fields["heat_map"] = field or FIELD
    stems = {name: "_".join(filter(None, [name, fields.get(name)])) for name in names}
    return {name: target / f"{stem}.{arguments.to or 'png'}" for name, stem in stems.items()}
