# SPDX-License-Identifier: BSD-3-Clause
"""The filter *Difference of two runs*: an array before, after, and their difference and ratio."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkDataSet, vtkMultiBlockDataSet

from perfield.derived.comparing import mean_by_rank, measured, mesh_changes
from perfield.derived.matching import check
from perfield.output.survey import COMPUTING
from perfield.paraview.calls import warn
from perfield.paraview.proxies import Choice, Flag, Proxy, Text
from perfield.paraview.runs import OpenRun, blocks_of, known_field, mark, named_blocks, shown_in
from perfield.pictures.blocks import attach
from perfield.pictures.compared import (
    AFTER,
    BEFORE,
    DIFFERENCE,
    Side,
    compared_frame,
    compared_mesh,
    other_places,
)
from perfield.pictures.topology_picture import topology, topology_scene

RATIO = "_ratio"
MEAN, SHOWN = range(2)

PROXY = Proxy(
    name="PerfieldDifference",
    label="Difference of two runs",
    help="""
        Compares an array of two runs, as 'perfield compare' does. Select two readers of run.json, first that
        of the run before, then with Ctrl that of the run after, and choose this filter. It makes the arrays
        of both, with the endings _before and _after, their _difference, after minus before, and their
        _ratio, after over before. Where the runs divide the mesh in other ways, each cell is compared with
        the cell at its place, and compute times become times per cell. The machine is compared by rank.""",
    several=True,
    parameters=(
        Text(
            "array",
            "Array",
            "Name of a field that both runs have, such as compute_time_s or mpi_wait_time_s.",
            COMPUTING,
        ),
        Choice(
            "steps",
            "Steps",
            """Mean of all: each rank's mean over all steps that all ranks closed alike. The one shown: the
            step at the time that is shown, and that of the run before with the same number.""",
            ("mean of all", "the one shown"),
        ),
        Flag("swap", "Swap", "Take the second input as the run before."),
        Flag(
            "anyway",
            "Other programs, too",
            "Compare runs of different programs, or without a common region.",
            advanced=True,
        ),
    ),
)


def make(
    inputs: list[vtkDataObject],
    *,
    array: str = COMPUTING,
    steps: int = MEAN,
    swap: int = False,
    anyway: int = False,
) -> vtkMultiBlockDataSet:
    """The mesh or machine of the run after with four arrays. inputs : two. Others: as PROXY.

    Raises ValueError, RunError or MeshError where there are not two runs that can be compared.
    """
    if len(inputs) != 2:
        raise ValueError(
            f"Difference of two runs got {len(inputs)} input{'s' * (len(inputs) != 1)}, but needs two: "
            "select two readers of run.json in the pipeline browser, the second with Ctrl, and choose it."
        )
    before, after = reversed(inputs) if swap else inputs
    (old, _), (new, number) = shown_in(before), shown_in(after)
    check(old.run, new.run, _names(old, new), bool(anyway))
    field = known_field(new, array)
    known_field(old, array)
    if steps == MEAN:
        sides = [_of_all(run, name, field) for run, name in zip((old, new), _names(old, new))]
    else:
        same = _same_step(old, new, number)
        sides = [
            _of_one(run, name, at, field)
            for run, at, name in zip((old, new), (same, number), _names(old, new))
        ]
    machine = ["measurements" in blocks_of(one) for one in (before, after)]
    if machine[0] != machine[1]:
        raise ValueError(
            "one input is a mesh and the other a machine; choose the same Picture in both readers."
        )
    blocks = _on_machine(old, new, sides, field) if machine[0] else dict(_on_mesh(old, new, sides, field))
    return mark(named_blocks(blocks), new, number)


def _names(before: OpenRun, after: OpenRun) -> tuple[str, str]:
    """Names of both runs, for sentences."""
    names = before.run.path.name, after.run.path.name
    return names if names[0] != names[1] else (str(before.run.path), str(after.run.path))


def _of_all(run: OpenRun, name: str, field: str) -> Side:
    chosen = measured(run.run, name)
    positions = chosen.positions[chosen.compared]
    values = mean_by_rank(run.run, field, positions)
    steps = f"mean of {chosen.count(chosen.compared):,} steps"
    changes = mesh_changes(run.run, positions)
    return Side(name, steps, run.run, run.run.frame(int(positions[-1])), values, mesh_changes=changes)


def _of_one(run: OpenRun, name: str, number: int, field: str) -> Side:
    frame = run.run.with_fields([field]).frame(number)
    mean = f", mean of {frame.span} steps" if frame.span > 1 else ""
    return Side(name, f"step {frame.label}{mean}", run.run, frame, frame.values[field])


def _same_step(before: OpenRun, after: OpenRun, number: int) -> int:
    """The frame of the run before whose step has the number of a frame of the run after."""
    label = after.run.frame(number).label
    labels = before.run.frame_headers(range(len(before.run)))["label"].tolist()
    if label not in labels:
        raise ValueError(
            f"{before.run.path.name} has no step {label}, but steps {min(labels)} to {max(labels)}; show "
            "one of these, or choose 'mean of all' in Steps."
        )
    return labels.index(label)


def _on_mesh(
    before: OpenRun, after: OpenRun, sides: list[Side], field: str
) -> Iterator[tuple[str, vtkDataSet]]:
    for side in sides:
        if side.mesh_changes:
            raise ValueError(
                f"the mesh of {side.name} changes in these steps; choose 'the one shown' in Steps."
            )
    pair = [replace(side, pieces=run.pieces) for side, run in zip(sides, (before, after))]
    compared = compared_mesh(*pair, field)
    if compared.per_cell:
        warn(f"the runs divide the mesh differently, so {field} is shared out among the cells of a rank.")
    for name, piece in compared.blocks(field):
        old, new = (vtk_to_numpy(piece.GetCellData().GetArray(field + ending)) for ending in (BEFORE, AFTER))
        attach(piece, field + RATIO, ratio(old, new), "cell")
        piece.GetCellData().SetActiveScalars(field + DIFFERENCE)
        yield name, piece


def _on_machine(before: OpenRun, after: OpenRun, sides: list[Side], field: str) -> dict[str, vtkDataSet]:
    sizes = before.run.n_ranks, after.run.n_ranks
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"the runs have {sizes[0]} and {sizes[1]} ranks, so the machine has no rank to compare with; "
            "compare their meshes."
        )
    apart = other_places(before.placement, after.placement)
    if apart:
        warn(
            f"{len(apart)} of {sizes[1]} ranks sat elsewhere before; the picture shows where they sit after."
        )
    frame = compared_frame(sides[0], sides[1], field)
    values = {**frame.values, field + RATIO: ratio(sides[0].values, sides[1].values)}
    scene = topology_scene(after.run, after.placement, without=("messages", "links", "collectives"))
    layers = topology(after.run, replace(frame, values=values), scene).layers()
    layers["measurements"].GetCellData().SetActiveScalars(field + DIFFERENCE)
    return layers


def ratio(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """after over before, float64; NaN where before is 0 or one is absent."""
    return np.divide(after, before, out=np.full(len(after), np.nan), where=np.nan_to_num(before) != 0)
