# SPDX-License-Identifier: BSD-3-Clause
"""The filter *Top messages*: the pairs of ranks with most bytes or most messages in a step, as lines."""

from __future__ import annotations

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkMultiBlockDataSet, vtkPolyData

from perfield.analysis.pair_keys import pair_keys
from perfield.paraview.proxies import RUN_PATH, Choice, Number, Proxy
from perfield.paraview.runs import OpenRun, blocks_of, mark, named_blocks, shown_in
from perfield.paraview.tubes import TUBES, as_tubes
from perfield.pictures.line_choice import LineChoice, group_of
from perfield.pictures.lines import Pairs, pairs_of
from perfield.pictures.piece_messages import geometry_messages
from perfield.pictures.topology_picture import topology
from perfield.run import Frame

BYTES, COUNT = range(2)
ALL, INSIDE, BETWEEN = range(3)
PLACE = "place"

PROXY = Proxy(
    name="PerfieldTopMessages",
    label="Top messages",
    help="""
        Shows the pairs of ranks that exchange most in each step, as a line from the sender to the receiver,
        on the mesh or on the machine. The cell array place counts from 1, the heaviest; source, target,
        sent_bytes, sent_count and others say what it is: see them as a table in a SpreadSheet View, with
        Cell Data.""",
    inputs=("vtkCompositeDataSet", "vtkDataSet"),
    parameters=(
        Number("most", "Number", "How many pairs of ranks are shown.", 10, 1, 200),
        Choice("by", "Heaviest by", "What makes a pair of ranks heavy.", ("bytes", "number of messages")),
        Choice(
            "where",
            "Where",
            "Whether both ranks are on one node, on different nodes, or either.",
            ("everywhere", "inside nodes", "between nodes"),
        ),
        TUBES,
        RUN_PATH,
    ),
)


def make(
    inputs: list[vtkDataObject],
    *,
    most: int = 10,
    by: int = BYTES,
    where: int = ALL,
    tubes: int = True,
    run: str = "",
) -> vtkMultiBlockDataSet:
    """A block `messages` of lines. inputs : one mesh or machine. Others: as the parameters of PROXY.

    Raises ValueError if the input names no run, or there are no such messages in the step.
    """
    opened, number = shown_in(inputs[0], run)
    frame = opened.run.frame(number)
    pairs = pairs_of(frame)
    chosen = _heaviest(pairs, opened, most, by, where)
    if not chosen.any():
        of = ("", " inside nodes", " between nodes")[where]
        raise ValueError(f"no rank sent a message{of} in this step; show another one.")
    left_out = np.sort(pair_keys(pairs.source[~chosen], pairs.target[~chosen]))
    choice = LineChoice(most=most, left_out=left_out)
    on_machine = "measurements" in blocks_of(inputs[0])
    lines = (
        _of_machine(opened, frame, choice)
        if on_machine
        else geometry_messages(opened.run, frame, opened.pieces, choice)
    )
    lines = _with_places(lines, by)
    return mark(named_blocks({"messages": as_tubes(lines) if tubes else lines}), opened, number)


def _heaviest(pairs: Pairs, opened: OpenRun, most: int, by: int, where: int) -> np.ndarray:
    """Which pairs are the heaviest, bool (n_pairs,); of equal ones those of lower ranks."""
    here, there = (group_of(opened.placement.node_id, ranks) for ranks in (pairs.source, pairs.target))
    inside = (here == there) & (here >= 0)
    fits = {ALL: np.ones_like(inside), INSIDE: inside, BETWEEN: ~inside}[where]
    weight, other = (pairs.values[name] for name in _names(by))
    order = np.lexsort((-other, -weight))
    chosen = np.zeros(len(weight), bool)
    chosen[order[fits[order]][:most]] = True
    return chosen


def _names(by: int) -> tuple[str, str]:
    return ("sent_count", "sent_bytes") if by == COUNT else ("sent_bytes", "sent_count")


def _of_machine(opened: OpenRun, frame: Frame, choice: LineChoice) -> vtkPolyData:
    return topology(opened.run, frame, opened.machine_with(choice)).layers()["messages"]


def _with_places(lines: vtkPolyData, by: int) -> vtkPolyData:
    """Lines with the place of each, from 1."""
    data = lines.GetCellData()
    names = [name for name in _names(by) if data.HasArray(name)]
    columns = [-vtk_to_numpy(data.GetArray(name)).astype(float) for name in reversed(names)]
    place = np.zeros(lines.GetNumberOfCells(), np.int32)
    if columns:
        place[np.lexsort(columns)] = np.arange(1, len(place) + 1)
        data.SetActiveScalars(names[0])
    array = numpy_to_vtk(place, deep=True)
    array.SetName(PLACE)
    data.AddArray(array)
    return lines
