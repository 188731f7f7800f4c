# SPDX-License-Identifier: BSD-3-Clause
"""The filter *Rank*: one rank's piece of the mesh or its place in the machine, and its partners."""

from __future__ import annotations

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkDataSet, vtkMultiBlockDataSet

from perfield.output.description import places
from perfield.paraview.proxies import RUN_PATH, Choice, Number, Proxy
from perfield.paraview.runs import (
    OpenRun,
    blocks_of,
    mark,
    named_blocks,
    ranks_in,
    shallow,
    shown_in,
    some_cells,
)
from perfield.paraview.tubes import TUBES, as_tubes
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.lines import Pairs, pairs_of
from perfield.pictures.overview import Overview
from perfield.pictures.piece_messages import geometry_messages
from perfield.pictures.topology_picture import topology
from perfield.pictures.topology_polydata import attach_names
from perfield.run import Frame
from perfield.text import in_bytes

WORDS = "in_words"  # field data: what the rank is
NAMED = 5  # partners that are named, of each direction
MOST = 1_000_000  # of the slider; a larger rank can be typed

PROXY = Proxy(
    name="PerfieldRank",
    label="Rank",
    help="""
        Shows one rank: its piece of the mesh, or its cells of the machine with the parts above them, and a
        line for each of its messages in the step that is shown. The field data array in_words says which
        host and core it is on, and whom it sends most to and receives most from: see it in a SpreadSheet
        View with Field Data, or in the view by the filter Python Annotation.""",
    inputs=("vtkCompositeDataSet", "vtkDataSet"),
    parameters=(
        Number("rank", "Rank", "The rank in MPI_COMM_WORLD; counts from 0.", 0, 0, MOST),
        Choice(
            "lines",
            "Messages",
            "Which of its messages are lines.",
            ("sent and received", "sent", "received", "none"),
        ),
        TUBES,
        RUN_PATH,
    ),
)
BOTH, SENT, RECEIVED, NONE = range(4)


def make(
    inputs: list[vtkDataObject], *, rank: int = 0, lines: int = BOTH, tubes: int = True, run: str = ""
) -> vtkMultiBlockDataSet:
    """The blocks of a rank, and `messages`. inputs : one mesh or machine. Others: as PROXY.

    Raises ValueError if the input names no run, or the run has no such rank.
    """
    opened, number = shown_in(inputs[0], run)
    n_ranks = opened.run.n_ranks
    if not 0 <= rank < n_ranks:
        raise ValueError(f"Rank: this run has no rank {rank}; it has ranks 0 to {n_ranks - 1}.")
    frame = opened.run.frame(number)
    alone = np.arange(n_ranks) == rank
    ends = {BOTH: {"either": alone}, SENT: {"senders": alone}, RECEIVED: {"receivers": alone}, NONE: {}}
    choice = LineChoice(**ends[lines])
    draw = _on_machine if "measurements" in blocks_of(inputs[0]) else _on_mesh
    blocks = draw(inputs[0], opened, frame, rank, choice)
    if lines == NONE:
        blocks.pop("messages", None)
    elif tubes:
        blocks["messages"] = as_tubes(blocks["messages"])
    made = named_blocks(blocks)
    words = in_words(opened, pairs_of(frame), rank)
    for one in (made, *blocks_of(made).values()):
        attach_names(one, WORDS, [words])
    return mark(made, opened, number)


def in_words(run: OpenRun, pairs: Pairs, rank: int) -> str:
    """What a rank is, in a sentence: "rank 3, node0, core 3; sends to 4 (8 kB); receives from 2 (...)"."""
    of_ranks = places(run.run, run.placement)
    place = [f"rank {rank}", of_ranks["host"][rank], of_ranks["core"][rank]]
    parts = [", ".join(filter(None, place))]
    ends = {"sends to": (pairs.source, pairs.target), "receives from": (pairs.target, pairs.source)}
    for verb, (own, other) in ends.items():
        mine = np.flatnonzero(own == rank)
        size = pairs.values["sent_bytes"][mine]
        mine = mine[np.argsort(-size, kind="stable")]
        names = [f"{other[n]} ({in_bytes(pairs.values['sent_bytes'][n])})" for n in mine[:NAMED]]
        names += [f"{len(mine) - NAMED} more"] * (len(mine) > NAMED)
        parts.append(f"{verb} {', '.join(names) if names else 'none'}")
    return "; ".join(parts)


def _on_mesh(
    mesh: vtkDataObject, opened: OpenRun, frame: Frame, rank: int, choice: LineChoice
) -> dict[str, vtkDataSet]:
    """The blocks of the rank, and lines."""
    found = {}
    for name, piece in blocks_of(mesh).items():
        ranks, _ = ranks_in(piece)
        if len(ranks) and (ranks == rank).all():
            found[name] = shallow(piece)
        elif (ranks == rank).any():
            raise ValueError(
                "the input has several ranks in one block. Put this filter behind a run.json that File > "
                "Open opened, before filters that merge blocks."
            )
    return found | {"messages": geometry_messages(opened.run, frame, opened.pieces, choice)}


def _on_machine(
    machine: vtkDataObject, opened: OpenRun, frame: Frame, rank: int, choice: LineChoice
) -> dict[str, vtkDataSet]:
    """The rank's cells, the parts of the machine above them, and lines."""
    blocks = blocks_of(machine)
    scene = opened.machine_with(choice)
    if isinstance(scene, Overview):
        node = np.asarray(opened.placement.node_id)[rank]
        kept = {name: _at(blocks[name], "node_id", node) for name in ("measurements", "machine")}
    else:
        kept = {name: _at(blocks[name], "rank", rank) for name in ("ranks", "measurements")}
        position = np.flatnonzero(scene.cells.rank == rank)
        above = np.zeros(blocks["machine"].GetNumberOfCells(), bool)
        part = int(scene.cells.parent[scene.cells.ranks.start + position[0]]) if len(position) else -1
        while part >= 0:
            above[part] = True
            part = int(scene.cells.parent[part])
        kept["machine"] = some_cells(blocks["machine"], above)
    kept["messages"] = topology(opened.run, frame, scene).layers()["messages"]
    return kept


def _at(cells: vtkDataSet, name: str, number: int) -> vtkDataSet:
    """The cells whose array has a number."""
    array = cells.GetCellData().GetArray(name)
    if array is None:
        return shallow(cells)
    return some_cells(
        cells, np.array([array.GetTuple1(n) == number for n in range(cells.GetNumberOfCells())])
    )
