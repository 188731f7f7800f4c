# SPDX-License-Identifier: BSD-3-Clause
"""The reader of run.json: a run's values on its one stored mesh, on its machine, or its messages as lines.

What it makes has the blocks, arrays and names of the pictures of `perfield render`. Nothing is written: a run
costs on disk what measuring wrote, and the points and cells of the mesh are the same from step to step.
"""

from __future__ import annotations

from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkMultiBlockDataSet, vtkPolyData

from perfield.analysis.words import did_you_mean
from perfield.output.telling import chosen_arrays, with_values_over_steps
from perfield.paraview.calls import tell
from perfield.paraview.proxies import Choice, Proxy, Text
from perfield.paraview.runs import OpenRun, mark, run_at
from perfield.pictures.geometry_picture import GeometryOptions, geometry, geometry_messages, per_cell_fields
from perfield.pictures.topology_picture import topology
from perfield.run import Frame

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
            """Telling: about twenty arrays that say most, chosen as perfield render does. All: a hundred and
            more, which take more memory and time.""",
            ("telling", "all"),
        ),
        Text(
            "fields",
            "Further arrays",
            """Names of further arrays, separated by commas, such as isend_bytes, solve_time_s. The command
            'perfield fields RUN' lists them.""",
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
    values_on: int = 0,
) -> vtkMultiBlockDataSet:
    """A picture of the run at a time. file : run.json. Others: as the parameters of PROXY.

    Raises RunError, StepsError, MeshError and others, whose texts tell the user what to do.
    """
    opened = run_at(file)
    opened.times  # noqa: B018 - a run without steps is told before a run without mesh
    number = opened.frame_at(time)
    frame = opened.run.frame(number)
    wanted = [word.strip() for word in fields.split(",") if word.strip()]
    names = None if arrays == ALL else chosen_arrays(frame.values, opened.survey, wanted)
    _check(opened, frame, wanted)
    shown = with_values_over_steps(frame, opened.survey, names)
    if picture == MACHINE:
        made = _machine(opened, shown, wanted if arrays == TELLING else None)
    elif picture == MESSAGES:
        made = _blocks({"messages": geometry_messages(opened.run, frame, opened.pieces)})
    else:
        association = "cell" if values_on else "point"
        chosen = None if names is None else [*names, *opened.survey.over_steps]
        options = GeometryOptions(opened.pieces, association, chosen, offsets=True)
        made = geometry(opened.run, shown, options)
    for sentence in opened.news():
        tell(sentence)
    return mark(made, opened, number)


def _machine(opened: OpenRun, frame: Frame, wanted: list[str] | None) -> vtkMultiBlockDataSet:
    """The machine's layers as named blocks. wanted : the fields that get all statistics; None is all."""
    scene = opened.scene(None if wanted is None else tuple(wanted))
    return _blocks(topology(opened.run, frame, scene).layers())


def _blocks(datasets: dict[str, vtkPolyData]) -> vtkMultiBlockDataSet:
    made = vtkMultiBlockDataSet()
    for number, (name, dataset) in enumerate(datasets.items()):
        fresh = dataset.NewInstance()  # its field data will name the frame; layers are shared by all frames
        fresh.ShallowCopy(dataset)
        made.SetBlock(number, fresh)
        made.GetMetaData(number).Set(vtkCompositeDataSet.NAME(), name)
    return made


def _check(opened: OpenRun, frame: Frame, wanted: list[str]) -> None:
    """Raises ValueError for names that no array has, with the nearest names."""
    of_cells = per_cell_fields(opened.run, frame)
    known = sorted({*frame.values, *opened.survey.over_steps, *of_cells})
    for name in wanted:
        if name not in known:
            advice = did_you_mean(name, known, 1) or f"'perfield fields {opened.run.path}' lists all"
            raise ValueError(f"Further arrays: this run has no field {name}; {advice}.")
