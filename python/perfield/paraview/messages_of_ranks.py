# SPDX-License-Identifier: BSD-3-Clause
"""The filter *Messages of ranks*: who sends to given ranks, and to whom they send, as fields and as lines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkDataSet, vtkMultiBlockDataSet

from perfield.paraview.proxies import RUN_PATH, Choice, Flag, Proxy, Text
from perfield.paraview.runs import (
    OpenRun,
    blocks_of,
    mark,
    named_blocks,
    ranks_in,
    shown_in,
    some_cells,
    words_in,
)
from perfield.paraview.tubes import TUBES, as_tubes
from perfield.pictures.blocks import attach
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.lines import calls_of
from perfield.pictures.machine_values import LARGEST
from perfield.pictures.mesh_messages import exchanged_with, focus_values
from perfield.pictures.piece_messages import geometry_messages
from perfield.pictures.topology_picture import topology
from perfield.run import Frame
from perfield.topology import select

PIECES_AND_LINES, PIECES, LINES = range(3)
FIRST = "to_chosen_count"  # ParaView colours by it first
MOST_APART = 8  # ranks that get arrays of their own

PROXY = Proxy(
    name="PerfieldMessagesOfRanks",
    label="Messages of ranks",
    help="""
        Shows with whom given ranks exchange messages in each step: the pieces of these ranks and of those
        that send to them or receive from them, and a line for each of these messages. to_chosen_count and
        to_chosen_bytes say what a rank sends to the given ranks, from_chosen_count and from_chosen_bytes
        what it receives from them; they are NaN where there is none. chosen is 1 on the given ranks. With
        few ranks, sent_count_to_5, sent_bytes_from_5 and so on say it for each. Behind a reader of the
        machine it shows the same there; put a filter for the layout of the nodes behind this one.""",
    inputs=("vtkCompositeDataSet", "vtkDataSet"),
    parameters=(
        Text(
            "ranks",
            "Ranks",
            """Ranks such as 5 or 3,7 or 0-3, or names of nodes or switches, which mean all ranks there.""",
            "0",
        ),
        Choice(
            "show",
            "Show",
            """Pieces: of the mesh or of the machine, with values. Lines: one from each sender to each
            receiver, with the values of its messages.""",
            ("pieces and lines", "pieces", "lines"),
        ),
        TUBES,
        Flag(
            "partners_only",
            "Only partners",
            """Leave out pieces that exchange nothing with the given ranks; else they stay, with NaN.""",
            True,
        ),
        RUN_PATH,
    ),
)


def make(
    inputs: list[vtkDataObject],
    *,
    ranks: str = "0",
    show: int = PIECES_AND_LINES,
    tubes: int = True,
    partners_only: int = True,
    run: str = "",
) -> vtkMultiBlockDataSet:
    """Pieces with what they exchange with the given ranks, and a block `messages` of lines.

    inputs : one mesh or machine. Others: as the parameters of PROXY.
    Raises ValueError or SelectionError where the input names no run, or the run does not have the ranks.
    """
    opened, number = shown_in(inputs[0], run)
    frame = opened.run.frame(number)
    if not words_in(ranks):
        raise ValueError("Ranks is empty; give the ranks whose messages to show: 5, or 3,7, or 0-3.")
    chosen = select(opened.placement, words_in(ranks))
    values = exchanged_with(frame, chosen)
    if chosen.sum() <= MOST_APART:
        apart = focus_values(frame, np.flatnonzero(chosen).tolist(), len(chosen))
        values |= {name: column for name, column in apart.items() if name.startswith("sent_")}
    involved = chosen | np.any([np.isfinite(column) for column in values.values()], axis=0)
    values["chosen"] = np.where(involved, chosen, np.nan).astype(float)
    choice = LineChoice(either=chosen, words=f"only messages of {ranks.strip()}")
    keep = involved if partners_only else np.ones_like(involved)
    on_machine = "measurements" in blocks_of(inputs[0])
    draw = _on_machine if on_machine else _on_mesh
    made = draw(inputs[0], opened, frame, values, keep, choice)
    lines = made.pop("messages")
    lines.GetCellData().SetActiveScalars("sent_bytes")
    made = {} if show == LINES else made
    if show != PIECES:
        made["messages"] = as_tubes(lines) if tubes else lines
    return mark(named_blocks(made), opened, number)


def _on_mesh(
    mesh: vtkDataObject,
    opened: OpenRun,
    frame: Frame,
    values: dict[str, np.ndarray],
    keep: np.ndarray,
    choice: LineChoice,
) -> dict[str, vtkDataSet]:
    """The input's pieces of the ranks in keep, bool (n_ranks,), with values; and lines."""
    made = {}
    for name, piece in blocks_of(mesh).items():
        ranks, association = ranks_in(piece)
        if keep[ranks].any():
            fresh = piece.NewInstance()
            fresh.ShallowCopy(piece)
            for of, column in values.items():
                attach(fresh, of, column[ranks], association)
            (fresh.GetPointData() if association == "point" else fresh.GetCellData()).SetActiveScalars(FIRST)
            made[name] = fresh
    return made | {"messages": geometry_messages(opened.run, frame, opened.pieces, choice)}


def _on_machine(
    _: vtkDataObject,
    opened: OpenRun,
    frame: Frame,
    values: dict[str, np.ndarray],
    keep: np.ndarray,
    choice: LineChoice,
) -> dict[str, vtkDataSet]:
    """The machine's layers without values, the ranks in keep, bool (n_ranks,), with values; and lines."""
    calls = {f"{call}_bytes": frame.values[f"{call}_bytes"] for call in calls_of(frame)}  # for the lines
    layers = topology(opened.run, replace(frame, values=values | calls), opened.machine_with(choice)).layers()
    for name in ("machine", "switches", "devices"):  # means of a few ranks say nothing
        data = layers[name].GetCellData()
        for of in (*values, *calls):
            data.RemoveArray(of)
            data.RemoveArray(of + LARGEST)
    cells = layers["measurements"]
    shown = keep[ranks_in(cells)[0]] if cells.GetCellData().HasArray("rank") else None
    if shown is not None and not shown.all():
        layers["measurements"] = cells = some_cells(cells, shown)
    cells.GetCellData().SetActiveScalars(FIRST)
    return layers
