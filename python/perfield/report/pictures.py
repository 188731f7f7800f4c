# SPDX-License-Identifier: BSD-3-Clause
"""One picture of the mesh and one of the machine, drawn as by `perfield render --images`."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.findings import Picture
from perfield.analysis.steps import StepKinds, kinds_of_steps
from perfield.derived.view import per_step
from perfield.extras import words
from perfield.output.image_plan import plan_images, without_images
from perfield.output.images import draw_images
from perfield.output.survey import Survey, over_steps
from perfield.report.charts import Image
from perfield.report.contents import Report

if TYPE_CHECKING:
    from perfield.output.survey import Survey

COMPUTING, WAITING = "compute_time_s", "waiting_time_s"
LAYERS = {"mesh": "geometry", "machine": "topology/measurements"}
WORDS = {  # what is seen, and what to look for
    "mesh": (
        "The simulation's mesh, coloured by {} of each rank.",
        "The simulation's own mesh: each rank's piece has one colour. Bright pieces take longest.",
    ),
    "machine": (
        "The machine, with {} of each rank and the messages between ranks.",
        "The machine: each plane is a node with its packages, cores and PUs. Below are the ranks that ran "
        "there, coloured by what they measured, and the heaviest messages.",
    ),
}
WITHOUT_STEPS = "There is no picture of mesh or machine, as no step is finished yet."
LEFT_OUT = "Pictures of mesh and machine were left out (--no-pictures)."


def pictures(report: Report) -> tuple[list[Image], list[str]]:
    """The pictures that can be drawn, and sentences on those that cannot."""
    if not len(report.run) or not report.observed.n_steps:
        return [], [WITHOUT_STEPS]
    try:
        with tempfile.TemporaryDirectory(prefix="perfield-report-") as place:
            return _drawn(report, Path(place))
    except (OSError, ValueError) as error:
        return [], [f"There is no picture of mesh or machine: {error}"]
    except ModuleNotFoundError as error:
        return [], [f"There is no picture of mesh or machine: it {words(error)}"]


def _drawn(report: Report, place: Path) -> tuple[list[Image], list[str]]:
    from perfield.output.picture_series import PictureSeries
    from perfield.pictures.blocks import MeshMissingError
    from perfield.pictures.geometry_picture import GeometryOptions
    from perfield.pictures.shown_mesh import shown_pieces
    from perfield.pictures.topology_picture import topology_scene

    run, notes = report.run, []
    kinds = _kinds(report)
    surveyed = _survey(report, kinds)
    wanted = {kind: _wanted(report, kind, kinds, surveyed) for kind in LAYERS}
    steps = sorted({picture.step for picture in wanted.values()})
    fields = list(dict.fromkeys([*(picture.field for picture in wanted.values()), COMPUTING, "rank"]))
    geometry = None
    try:
        pieces, of_mesh = shown_pieces(run, *report.mesh)
        geometry = GeometryOptions(pieces, "point", fields)
        notes += of_mesh
    except MeshMissingError as error:
        notes.append(f"There is no picture of the mesh: {error}")
    scene = topology_scene(run, report.placement, statistics=[])
    series = PictureSeries(
        per_step(run), steps, place, geometry, scene, surveyed, None, "planes", report.placement
    )
    series.write()
    jobs = []
    for kind, picture in wanted.items():
        # What a finding names may be the same on all ranks, and is not a picture then.
        for shown in (picture, replace(picture, field=COMPUTING)):
            planned = plan_images(series.description, [shown.field], [shown.step])
            found = [job for job in planned if job.get("layer") == LAYERS[kind]][:1]
            if found:
                wanted[kind] = shown
                jobs.append((kind, found[0]))
                break
        else:
            if LAYERS[kind] in series.description["layers"]:
                why = "; ".join(without_images(series.description, [COMPUTING]))
                notes.append(f"There is no picture of the {kind}: {why}.")
    for number, (_, job) in enumerate(jobs):
        job["files"] = [f"{number}.png"]
    files = draw_images(place, [job for _, job in jobs])
    return [_image(kind, file, wanted[kind]) for (kind, _), file in zip(jobs, files)], notes


def _kinds(report: Report) -> StepKinds:
    """Kinds of the steps that were read; positions are those of the rows of tables."""
    observed = report.observed
    steps = observed.steps_in_row[:, None]
    return kinds_of_steps(
        observed.of(COMPUTING if observed.has(COMPUTING) else "step_time_s") / steps,
        *(
            observed.of(name) / steps if observed.has(name) else None
            for name in ("io_write_bytes", "io_time_s")
        ),
    )


def _survey(report: Report, kinds: StepKinds) -> Survey:
    """What all steps say together, from what was read already."""
    run, observed = report.run, report.observed
    positions = np.searchsorted(run.step_indexes, observed.index)
    first = np.searchsorted(observed.row, np.arange(int(observed.row[-1]) + 1))

    def position(row: int | None) -> int | None:
        return None if row is None else int(positions[first[row]])

    columns = {}
    for name in (COMPUTING, WAITING):
        if observed.has(name):
            columns[name] = np.full((len(first), run.n_ranks), np.nan)
            columns[name][:, observed.ranks] = observed.of(name)
    is_output = np.zeros(len(run), bool)
    is_output[positions] = kinds.is_output[observed.row]
    labels = run.frame_headers(range(len(run)))["label"]
    return Survey(
        StepKinds(is_output, position(kinds.typical), position(kinds.slowest)),
        [row["field"] for row in report.regions],
        over_steps(columns, f"{observed.n_steps:,} steps"),
        run.step_indexes,
        labels,
        np.zeros(len(run), np.int64),
    )


def _wanted(report: Report, kind: str, kinds: StepKinds, surveyed: Survey) -> Picture:
    """What to show: what the finding of this kind that costs most names, else compute time. Its step is a
    position of a frame.

    Over all steps, unless a finding names a step or the slowest rank moves.
    """
    named = [f.picture for f in report.findings if f.picture.kind == kind and f.picture.field]
    moves = any(finding.kind == "imbalance that moves" for finding in report.findings)
    field = named[0].field if named else COMPUTING
    step = named[0].step if named else None
    typical = surveyed.kinds.typical or 0
    if step is not None:
        at = np.flatnonzero(report.run.step_indexes == step)
        return Picture(kind, field, int(at[0]) if len(at) else typical)
    mean = f"{field}_mean"
    return Picture(kind, field if moves or mean not in surveyed.over_steps else mean, typical)


def _image(kind: str, file: Path, picture: Picture) -> Image:
    from PIL import Image as Pixels

    with Pixels.open(file) as drawn:
        width, height = drawn.size
        drawn.convert("RGB").save(file, "PNG", optimize=True)
    of = picture.field.removesuffix("_mean")
    alt, caption = WORDS[kind]
    shows = ((kind, of), (kind, ""))
    return Image(kind, shows, alt.format(of), caption, "png", file.read_bytes(), width, height)
