# SPDX-License-Identifier: BSD-3-Clause
"""The reader of run.json: a run's values on its one stored mesh, on its machine, or its messages as lines.

What it makes has the blocks, arrays and names of the pictures of `perfield render`. Nothing is written: a run
costs on disk what measuring wrote, and the points and cells of the mesh are the same from step to step.
"""

from __future__ import annotations

from vtkmodules.vtkCommonDataModel import vtkMultiBlockDataSet

from perfield.output.main_arrays import chosen_arrays, with_values_over_steps
from perfield.output.survey import COMPUTING
from perfield.paraview.calls import warn
from perfield.paraview.proxies import Choice, Proxy, Text
from perfield.paraview.runs import OpenRun, blocks_of, mark, named_blocks, run_at, words_in
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.geometry_picture import GeometryOptions, geometry, per_cell_fields
from perfield.pictures.topology_picture import topology
from perfield.run import Frame
from perfield.text import did_you_mean

PICTURES = ("mesh", "machine", "messages on the mesh")
MESH, MACHINE, MESSAGES = range(3)
TELLING, ALL = range(2)

PROXY = Proxy(
    name="PerfieldRun",
    label="perfield run",
    help="""
        Shows a run of perfield at each of its steps: on the mesh of the simulation, or on the machine that
        ran it. It reads the run directory itself, so no pictures need be written. To see mesh and machine
        side by side, open run.json twice. Refresh, or File > Reload Files, shows what a running program has
        added.""",
    parameters=(
        Choice(
            "picture",
            "Picture",
            """Mesh: a block for each rank's piece. Machine: its nodes, packages, cores and ranks, and the
            messages between them, each layer a block. Messages on the mesh: a line from the middle of the
            sender's piece to that of the receiver's.""",
            PICTURES,
        ),
        Choice(
            "arrays",
            "Arrays",
            """Main: the twenty or so most important arrays, chosen as perfield render does. All: a hundred
            and more, which take more memory and time.""",
            ("main", "all"),
        ),
        Text(
            "fields",
            "Further arrays",
            """Names of further arrays, separated by commas, such as isend_bytes, solve_time_s. The command
            'perfield fields RUN' lists them.""",
        ),
        Text(
            "mesh",
            "Mesh on disk",
            "A .pvtu file or an OpenFOAM case that takes the place of the mesh that the run names.",
            advanced=True,
        ),
        Choice(
            "values_on",
            "Values on",
            "Whether perfield's values are arrays of the points or of the cells of the mesh.",
            ("points", "cells"),
            advanced=True,
        ),
    ),
    inputs=(),
    file="run.json",
    file_words="perfield run",
)


def times(file: str, **_: object) -> list[float]:
    """The times of the run's steps in ParaView, after reading what was written since. file : run.json."""
    return run_at(file, refresh=True).times


def make(
    file: str,
    time: float | None = None,
    *,
    picture: int = MESH,
    arrays: int = TELLING,
    fields: str = "",
    mesh: str = "",
    values_on: int = 0,
) -> vtkMultiBlockDataSet:
    """A picture of the run at a time. file : run.json. Others: as the parameters of PROXY.

    Raises RunError, StepsError, MeshError and others, whose texts say what to do.
    """
    opened = run_at(file)
    opened.use_mesh(mesh.strip())
    opened.times  # noqa: B018 - a run without steps is reported before a run without mesh
    number = opened.frame_at(time)
    wanted = words_in(fields)
    further = [name for name in wanted if name in opened.run.all_fields]
    frame = opened.run.with_fields(further).frame(number)
    names = None if arrays == ALL else chosen_arrays(frame.values, opened.survey, wanted)
    _check(opened, frame, wanted)
    shown = with_values_over_steps(frame, opened.survey, names)
    try:
        made = _picture(opened, shown, picture, None if arrays == ALL else wanted, names, values_on)
    except MeshMissingError as error:
        raise MeshMissingError(
            f"{error} Here, name it as Mesh on disk, or choose machine as Picture."
        ) from error
    for sentence in opened.new_sentences():
        warn(sentence)
    return mark(made, opened, number)


def _picture(
    opened: OpenRun,
    frame: Frame,
    picture: int,
    wanted: list[str] | None,
    names: list[str] | None,
    values_on: int,
) -> vtkMultiBlockDataSet:
    """One picture of a frame.

    wanted : the fields whose statistics each part of the machine gets. names : the arrays of the mesh.
    None is all.
    """
    if picture == MACHINE:
        scene = opened.scene(None if wanted is None else tuple(wanted))
        layers = topology(opened.run, frame, scene).layers()
        layers["measurements"].GetCellData().SetActiveScalars(COMPUTING)
        return named_blocks(layers)
    if picture == MESSAGES:
        lines = opened.messages.of(frame)
        lines.GetCellData().SetActiveScalars("sent_bytes")
        return named_blocks({"messages": lines})
    chosen = None if names is None else [*names, *opened.survey.over_steps]
    association = "cell" if values_on else "point"
    made = geometry(opened.run, frame, GeometryOptions(opened.pieces, association, chosen, offsets=True))
    for block in blocks_of(made).values():  # ParaView colours by it first
        (block.GetCellData() if values_on else block.GetPointData()).SetActiveScalars(COMPUTING)
    return made


def _check(opened: OpenRun, frame: Frame, wanted: list[str]) -> None:
    """Raises ValueError for names that no array has, with the nearest names."""
    of_cells = per_cell_fields(opened.run, frame)
    known = sorted({*frame.values, *opened.survey.over_steps, *of_cells, *opened.run.all_fields.names})
    for name in wanted:
        if name not in known:
            advice = did_you_mean(name, known, 1) or f"'perfield fields {opened.run.path}' lists all."
            raise ValueError(f"Further arrays: this run has no field {name}; {advice}")
