# SPDX-License-Identifier: BSD-3-Clause
"""perfield render: writes the pictures of a run for ParaView, and images of them on request."""

from __future__ import annotations

import argparse
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.layouts import DEFAULT, LAYOUTS
from perfield.catalyst_scripts.owned_folder import OwnedFolder
from perfield.commands import CommandError, words
from perfield.commands._chosen import add_span, opened
from perfield.commands._fields import check_fields
from perfield.commands._film import draw_film, film_of
from perfield.commands._first_images import COMPUTING, Shown, first_plots, shown_first
from perfield.commands._looks import check_places, checked
from perfield.commands._machine import (
    add_machine_options,
    choose_machine,
    machine_scene,
    zoom_folder,
)
from perfield.commands._mesh import add_mesh_options, shown_mesh
from perfield.commands._newest import add_run, run_path
from perfield.commands.paths import own_command
from perfield.configuration import focus_ranks
from perfield.studies import given, loaded
from perfield.text import first_of, first_sentence, in_bytes, in_percent
from perfield.text.terminal import Progress

if TYPE_CHECKING:  # these load VTK, which --help does not need
    from perfield.derived.providers import FieldsOfRun
    from perfield.derived.run import Run
    from perfield.derived.view import RunView
    from perfield.output.picture_series import PictureSeries
    from perfield.output.survey import Survey
    from perfield.pictures.geometry_picture import GeometryOptions
    from perfield.run import AnyRun

HELP = "write the pictures of a run as .pvd files for ParaView, and as images"
DESCRIPTION = """\
Writes RUN/pictures: geometry.pvd (values on the simulation's mesh), messages.pvd
(lines between the pieces that communicate) and topology.pvd (the machine).

  perfield render perfield-run                      at most 20 steps, the most important values
  perfield render perfield-run --steps all --images
  perfield render perfield-run --steps 0,10,20:50:5 --fields solve_time_s,sent_bytes
  perfield render perfield-run --rhythm --images    who is ahead of whom, in steps
  perfield render perfield-run --regimes --images   where and when it is slow
  perfield render perfield-run --steps all --film run.mp4     a film of all steps
  perfield render perfield-run --mesh case/         pieces in case/processor0, ...
  perfield render perfield-run --mesh results.case --rank-array mpi_rank_id
  perfield render perfield-run --zoom n17 --images  one node in full, with its partners"""

STEPS_HELP = """\
"all", or numbers of steps and ranges without their ends: 0,10,20:50:5; default: at most 20: a
typical one, the slowest to compute, the first, the last, and others evenly spaced"""
FIELDS_HELP = "arrays and own fields of the simulation to put on the mesh and into images"
ARRAYS_HELP = """\
what the pictures carry: the twenty or so most important arrays, and those in --fields (main, the
default), or all; own fields of the simulation are always there"""
IMAGES_HELP = """\
also draw five images (.png): the costliest finding on the mesh and on the machine, ranks by steps,
where the time of a step goes, and the simulation's field that varies most; of --fields all that
there are, in all of --steps"""
ALL_HELP = """\
draw all images: values over all steps, of a typical step and of the slowest to compute that writes
no output, messages and parts of the machine"""
FILM_HELP = """\
also make a film of the steps in --steps, mesh and machine side by side and ranks by steps below
(.mp4, .webm or .gif, by ffmpeg): of the first of --fields, else of compute time"""
SIZE_HELP = "width and height in pixels of images (1280x720), or of a film (1920x1080)"
CAMERA_HELP = """\
of images and films: auto, front, side, top or iso; "position;focus;up", as in "4 3 2; 0 0 0; 0 0 1";
topology:front is for the machine alone (auto)"""
LEAST_EXPLAINED = 0.5  # of the time in MPI calls that may wait, as for the finding "late rank"
VIEWS = ("auto", "plain", "exploded", "highest", "cut")
VIEW_HELP = """\
how images show the mesh: plain; exploded, its pieces apart; highest, the highest ranks opaque
before the others, which are translucent; cut, along a plane; auto (default): plain unless ranks
would be hidden, and fields of the simulation cut"""
LAYOUT_HELP = """\
how images and `perfield open` arrange the nodes of the machine: flat (default), each part below
what holds it; planes, one behind the other; ring; double-ring, nodes outside and messages inside;
side-by-side; fat-tree, nodes below their switches; torus. topology.pvd always holds planes, which
its filter or a Calculator moves"""
EXPLODE_HELP = """\
move the pieces apart, also in ParaView: 1 doubles the distances between their middles
(default: 0.5 or 1, whichever shows all ranks)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, what to write, the steps and the target."""
    add_run(parser)
    add_span(parser)
    add = parser.add_argument
    add("--geometry", action="store_true", help="only the mesh (and the machine, with --topology)")
    add("--topology", action="store_true", help="only the machine (and the mesh, with --geometry)")
    add("--steps", metavar="STEPS", help=STEPS_HELP)
    add("--fields", metavar="NAMES", help=FIELDS_HELP)
    add("--arrays", choices=("main", "all"), default="main", help=ARRAYS_HELP)
    for place in given("RENDERED").values():
        loaded(place).add_arguments(parser)
    add("--images", action="store_true", help=IMAGES_HELP)
    add("--all", action="store_true", help=ALL_HELP)
    add("--film", metavar="FILE", help=FILM_HELP)
    add("--fps", metavar="RATE", type=_rate, help="frames per second of the film (4)")
    add("--size", metavar="WxH", type=checked("size"), help=SIZE_HELP)
    add("--camera", metavar="CAMERA", type=checked("camera"), help=CAMERA_HELP)
    add_mesh_options(parser)
    add("--cells", action="store_true", help="put values on cells (default: on points)")
    add("--view", choices=VIEWS, default="auto", help=VIEW_HELP)
    add("--explode", metavar="FACTOR", type=_factor, help=EXPLODE_HELP)
    add("--layout", choices=LAYOUTS, default=DEFAULT, help=LAYOUT_HELP)
    add("--focus", metavar="RANKS", help="show on each piece what it exchanges with these ranks: 3,7")
    add_machine_options(parser)
    add("-o", "--output", metavar="DIR", help="where to write (RUN/pictures)")


def execute(arguments: argparse.Namespace) -> int:
    """Prints what it will write, writes it, and prints how to look at it."""
    run = with_fields(opened(run_path(arguments.run), arguments.span), arguments)
    check_fields(run, arguments)
    render(run, arguments)
    return 0


def render(run: AnyRun, arguments: argparse.Namespace) -> Path:
    """Writes the pictures of an open run according to the arguments; returns their directory.

    Raises CommandError, StepsError, MeshError, NotOursError or OutputError; their texts are for the user.
    """
    from perfield.derived.view import per_step
    from perfield.output.picture_series import PictureSeries
    from perfield.output.steps import choose_steps
    from perfield.output.survey import survey

    run = per_step(run)
    _warn_of_unused(arguments)
    movie = film_of(arguments)
    directory = Path(arguments.output) if arguments.output else _place(run, arguments)
    check_places(directory, None if arguments.output else run.path)
    choose_steps(run, arguments.steps)  # complains before all steps are read, as the next line does
    choice = choose_machine(run, arguments)
    wanted, shown = words(arguments.fields or ""), None
    if arguments.images and not arguments.all and not wanted:
        shown = shown_first(run, run.frame(0).values)
        wanted = [shown.field]
    with Progress("reading steps", len(run)) as progress:
        surveyed = survey(run, wanted, progress.advance)
    steps = choose_steps(run, arguments.steps, surveyed.kinds)
    frame = shown.frame(surveyed.indexes, surveyed.kinds) if shown else None
    steps = sorted({*steps, frame}) if frame is not None and not arguments.steps else steps
    OwnedFolder(directory).make()
    if run.frame(steps[0]).kind == "whole":
        print("no step was closed: the one frame shown covers the whole run, from start to end")
    geometry, topology = _geometry(run, arguments), None
    if geometry is not None:
        geometry.lines = choice.lines
    if arguments.topology or arguments.zoom or not arguments.geometry:
        topology = machine_scene(run, choice, (run.frame(step) for step in steps))
        for note in topology.notes:
            print(note)
    carried = _arrays(run, arguments, surveyed, wanted)
    said = (surveyed, carried, arguments.layout, choice.placement)
    pictures = PictureSeries(run, steps, directory, geometry, topology, *said)
    if pictures.geometry is None and pictures.topology is None:
        raise CommandError(f"{run.path} has neither a mesh nor a machine to show; `perfield info {run.path}`")
    expected = pictures.estimate()
    print(f"{len(steps)} of {len(run)} steps: about {in_bytes(expected)} in {directory}", flush=True)
    if shutil.disk_usage(directory).free < expected:
        free = in_bytes(shutil.disk_usage(directory).free)
        raise CommandError(
            f"{directory} has only {free} free; choose fewer steps (--steps), fewer values "
            "(--fields) or another place (-o)."
        )
    with Progress("writing steps", len(steps)) as progress:
        written = pictures.write(progress.advance)
    _print_summary(run, pictures, written)
    if arguments.images:
        _images(run, pictures, arguments, shown, frame)
    if movie is not None:
        draw_film(run, pictures, movie)
    options = f" -o {directory}" if arguments.output or arguments.zoom else ""
    print(f"look at them: {own_command()} open {run.path}{options}")
    return directory


def with_fields(run: Run, arguments: argparse.Namespace) -> RunView:
    """The run with the fields that pictures take from analyses: those in --fields, those that options of
    studies choose, of functions, and of waiting, if little enough is to be read and enough of it is
    explained."""
    from perfield.derived.providers import FieldsOfRun
    from perfield.derived.providers.functions import Functions
    from perfield.derived.view import RunView

    wanted, names = words(arguments.fields or ""), []
    chosen = [loaded(place).chosen(run, arguments, wanted) for place in given("RENDERED").values()]
    chosen = [provider for provider in chosen if provider is not None]
    known = FieldsOfRun(run, chosen)
    for provider in chosen:
        shown = [field.name for field in provider.gives]
        provider.compute(shown, np.arange(0))  # a sentence, where the run cannot have such fields
        names += shown
        for sentence in provider.notes:
            print(f"note: {sentence}")
    names += _of_waits(run, known, arguments)
    names += known.provider(Functions).names
    return RunView(run, [*names, *(name for name in wanted if name in known)], all_fields=known)


def _of_waits(run: Run, known: FieldsOfRun, arguments: argparse.Namespace) -> list[str]:
    """The fields of waiting to show: where --fields names one, or where nobody chose fields, these take no
    more events than are read at once, and half of the waiting or more is explained."""
    from perfield.derived.event_blocks import EVENTS_AT_ONCE, events_per_frame
    from perfield.derived.providers.waits import Waits
    from perfield.fields.waits import CAUSED, CAUSED_IN, WAIT_NAMES, is_of_waits
    from perfield.output.main_arrays import WAITS

    waits, wanted = known.provider(Waits), any(map(is_of_waits, words(arguments.fields or "")))
    if not waits.names or (arguments.fields and not wanted):
        return []
    names = list(WAITS)
    if arguments.arrays == "all":
        of_regions = (CAUSED_IN.replace("<region>", region) for region in waits.uneven_regions())
        names += [*sorted(WAIT_NAMES.difference(WAITS)), *of_regions]
    if wanted:
        return names
    n_events = events_per_frame(run) * len(run)
    if n_events > EVENTS_AT_ONCE:
        print(
            f"note: no picture shows which ranks the others wait for, as that takes about {n_events:,} "
            f"events; --fields compute_time_s,{CAUSED} reads them"
        )
        return []
    explained = waits.explained(names)
    if explained < LEAST_EXPLAINED:
        print(
            f"note: no picture shows which ranks the others wait for, as only {in_percent(explained)} of the "
            f"time in MPI calls is explained; --fields compute_time_s,{CAUSED} shows that part"
        )
        return []
    return names


def _place(run: AnyRun, arguments: argparse.Namespace) -> Path:
    """Where pictures go by default; those of a zoom leave the others in place."""
    pictures = Path(run.path, "pictures")
    return pictures / zoom_folder(arguments.zoom) if arguments.zoom else pictures


def _geometry(run: AnyRun, arguments: argparse.Namespace) -> GeometryOptions | None:
    """Options of the geometry picture; None if not wanted, or if impossible and not requested."""
    if (arguments.topology or arguments.zoom) and not arguments.geometry:
        return None
    from perfield.pictures.blocks import MeshMissingError
    from perfield.pictures.geometry_picture import GeometryOptions

    try:
        pieces, notes = shown_mesh(run, arguments)
    except MeshMissingError as error:
        if arguments.geometry:
            raise
        print(f"no geometry: {error}")
        return None
    for note in notes:
        print(f"note: {note}")
    fields = None
    if arguments.fields:
        fields = words(arguments.fields)
        fields = [*fields, *(name for name in ("rank", "compute_time_s") if name not in fields)]
    ranks, left_out = focus_ranks(run)
    if arguments.focus:
        try:
            ranks, left_out = tuple(int(word) for word in words(arguments.focus)), ""
        except ValueError as error:
            raise CommandError(
                f"focus ranks '{arguments.focus}' are not numbers; expected ranks such as 3,7."
            ) from error
    if left_out:
        print(f"note: {left_out}")
    association = "cell" if arguments.cells else "point"
    return GeometryOptions(pieces, association, fields, ranks, arguments.view, arguments.explode)


def _arrays(
    run: AnyRun, arguments: argparse.Namespace, surveyed: Survey, wanted: Sequence[str]
) -> list[str] | None:
    """Names of the arrays that the pictures carry; None for all. wanted : names of some."""
    from perfield.output.main_arrays import chosen_arrays

    if arguments.arrays == "all":
        return None
    return chosen_arrays(run.frame(0).values, surveyed, wanted)


def _print_summary(run: AnyRun, pictures: PictureSeries, written: list[Path]) -> None:
    from perfield.pictures.geometry_picture import ranks_without_mesh

    what = {
        "geometry": "values on the mesh",
        "messages": "messages between its pieces",
        "topology": "the machine",
    }
    for path in written:
        print(f"  {path.name:13} {what[path.stem]}, {in_bytes(pictures.bytes[path.stem])}")
    if pictures.geometry is not None:
        print(f"  {pictures.geometry.pieces.way}")
        left_out = ranks_without_mesh(run, run.frame(pictures.steps[-1]), pictures.geometry.pieces)
        if left_out:
            ranks = first_of(left_out)
            print(f"  {len(left_out)} of {run.n_ranks} ranks have no mesh, or an empty piece: {ranks}")
        for sentence in getattr(pictures.geometry.pieces, "left_out", {}).values():
            print(f"  left out: {sentence}")
    if pictures.shown_at == "step":
        print("  times in ParaView are indices of steps: the program gave no rising times")


def _images(
    run: AnyRun,
    pictures: PictureSeries,
    arguments: argparse.Namespace,
    shown: Shown | None,
    frame: int | None,
) -> None:
    """Draws images: all that were asked for, or the first ones: `shown`, in a frame or over all."""
    from perfield.output.image_plan import FIRST_PLOTS, first_images, plan_images, without_images
    from perfield.output.images import draw_images

    fields = words(arguments.fields) if arguments.fields else None
    steps, notes, plots = pictures.steps if arguments.steps else None, [], {}
    if shown is None:
        images = plan_images(pictures.description, fields, steps)
        notes += without_images(pictures.description, fields)
        plots = first_plots(run, [image["plot"] for image in images if "plot" in image], notes)
    else:
        field = "" if shown.alike and not steps else shown.field
        images = first_images(pictures.description, field, frame, steps, bool(arguments.focus))
        notes += without_images(pictures.description, [shown.field])
        notes += (
            [] if field else ["no image of mesh and machine: this is alike on all ranks; see the heat map"]
        )
        plots = first_plots(run, FIRST_PLOTS, notes, COMPUTING if field else shown.field)
    with Progress("drawing images", sum(len(image["files"]) for image in images)) as progress:
        look = {"size": arguments.size or "", "camera": arguments.camera or ""}
        files = draw_images(pictures.directory, images, progress.advance, look=look, plots=plots)
    for sentence in notes:
        print(f"  {sentence}")
    print(f"  images/       {len(files)} images" + (f", first {files[0].name}" if files else ""))
    if shown is not None and shown.words:
        print(f"  they show: {first_sentence(shown.words)} (perfield report says more)")
    if shown is not None:
        print("  more of them: --all, or --fields NAMES")


def _warn_of_unused(arguments: argparse.Namespace) -> None:
    """Prints which options have no effect without another one."""
    if arguments.all and not arguments.images:
        print("note: --all is for images alone; add --images")
    for name in ("size", "camera"):
        if getattr(arguments, name) and not (arguments.images or arguments.film):
            print(f"note: --{name} is for images and films alone; add --images or --film FILE")
    if arguments.fps is not None and not arguments.film:
        print("note: --fps is for a film alone; add --film FILE")


def _rate(text: str) -> float:
    """Frames per second. Raises ArgumentTypeError, with what to give."""
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0.1 <= rate <= 60:
        raise argparse.ArgumentTypeError(f"'{text}' is no rate of a film; give 0.1 to 60 frames a second: 4")
    return rate


def _factor(text: str) -> float:
    """The factor of an exploded view. Raises ArgumentTypeError, with what to give."""
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0 < factor <= 100:
        raise argparse.ArgumentTypeError(f"'{text}' is no factor; give a number above 0, at most 100: 0.5")
    return factor
