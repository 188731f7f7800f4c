# SPDX-License-Identifier: BSD-3-Clause
"""The topology picture: nodes as planes, the ranks under their PUs, measurements below, messages as lines.

Each layer is a separate dataset, so users can hide and colour it alone. A TopologyScene holds what all frames
of a run share (placement, machine, ranks).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkPolyData

from perfield.configuration import setting
from perfield.topology import LEVELS, Cells, Placement, layout, place, read_machines, table

from .lines import heaviest, joined, line_ends, pairs_of, placed, radii, unknown_of
from .topology_polydata import (
    attach,
    attach_names,
    attach_numbers,
    attach_to_points,
    segments,
    shapes,
)

if TYPE_CHECKING:
    from perfield.run import Frame, Run

LINE_RADIUS = 0.16  # of the thickest line, in rows


@dataclass(frozen=True)
class TopologyScene:
    """What all frames of a run share: the layout and the datasets that do not change.

    machine, ranks : as in TopologyPicture. comm_offset, periodic_BC : options of the message lines.
    notes : sentences on what is unknown about the machine.
    """

    placement: Placement
    cells: Cells
    machine: vtkPolyData
    ranks: vtkPolyData
    comm_offset: float
    periodic_BC: bool
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TopologyPicture:
    """One frame on the machine. All values are cell arrays; absent ones are NaN.

    machine : rectangles: topology_type, node_id, host_name, id (the part's own number). topology_type and
        host_name are numbers; the texts `topology_type_names` and `host_name_names` in the field data
        explain them.
    ranks : rectangles: rank, node_id, host_name, package_id, core_id, pu_id.
    measurements : rectangles: every value of the frame, and the arrays of `ranks`; pu_id is where the rank
        ran in this step.
    messages : lines: source, target, inside_node, sent_count, sent_bytes, empty_count, largest_bytes, and
        `<call>_count`, `<call>_bytes` for each call of the run. Messages with an unknown peer become one
        short stub per rank: the rank is the source, target is -3 and inside_node 2. Only the heaviest lines
        are there; in_words in the field data says what the others carry. messages_not_drawn in the field
        data holds count and bytes of messages with a rank that has no place. The point array radius is how
        thick a line is, in rows.
    """

    machine: vtkPolyData
    ranks: vtkPolyData
    measurements: vtkPolyData
    messages: vtkPolyData


def topology_scene(
    run: Run,
    placement: Placement | None = None,
    *,
    inter_node_offset: float | None = None,
    comm_offset: float | None = None,
    periodic_BC: bool | None = None,
    every_level: bool = False,
) -> TopologyScene:
    """Prepares the topology pictures of a run.

    run : a perfield.run.Run. placement : where the ranks are; None takes it from the run's own records.
    inter_node_offset, comm_offset : lengths in units of one row's height. For these and periodic_BC, None
        takes the run's configuration. every_level : also draw caches and NUMA nodes that span the same PUs
        as a level above.
    """
    notes: tuple[str, ...] = ()
    if placement is None:
        machines, unreadable = read_machines(Path(run.path) / "machine")
        placement = place(run.rank_entries, machines)
        notes = tuple(unreadable)
    if inter_node_offset is None:
        inter_node_offset = float(setting(run, "inter_node_offset"))
    if comm_offset is None:
        comm_offset = float(setting(run, "comm_offset"))
    if periodic_BC is None:
        periodic_BC = bool(setting(run, "periodic_BC"))
    cells = layout(placement, inter_node_offset, every_level=every_level)
    return TopologyScene(
        placement=placement,
        cells=cells,
        machine=_machine(placement, cells),
        ranks=_ranks(placement, cells),
        comm_offset=comm_offset,
        periodic_BC=periodic_BC,
        notes=notes + placement.notes,
    )


def topology(run: Run, frame: Frame, scene: TopologyScene | None = None, **options: Any) -> TopologyPicture:
    """The topology picture of one frame.

    scene : from topology_scene(run); all frames of a run can share it. None makes one with `options`.
    """
    scene = scene or topology_scene(run, **options)
    return TopologyPicture(scene.machine, scene.ranks, _measurements(scene, frame), _messages(scene, frame))


def topology_table(run: Run, **options: Any) -> list[tuple[str, str, float, float, float, str]]:
    """The cells of a run's topology picture: level, id, x, y, z, parent. options : as for topology_scene."""
    scene = topology_scene(run, **options)
    return table(scene.placement, scene.cells)


def _machine(placement: Placement, cells: Cells) -> vtkPolyData:
    which = cells.machine
    dataset = shapes(cells, which)
    node = cells.node[which]
    arrays = {"topology_type": cells.level[which].astype(np.int32), "node_id": node}
    attach(dataset, {**arrays, "host_name": _host_of(placement)[node], "id": cells.number[which]})
    attach_names(dataset, "topology_type_names", LEVELS)
    _name_nodes(dataset, placement)
    return dataset


def _ranks(placement: Placement, cells: Cells) -> vtkPolyData:
    dataset = attach(shapes(cells, cells.ranks), _places(placement, cells))
    _name_nodes(dataset, placement)
    return dataset


def _measurements(scene: TopologyScene, frame: Frame) -> vtkPolyData:
    rank = scene.cells.rank
    arrays = {name: column[rank] for name, column in frame.values.items()}
    where = _places(scene.placement, scene.cells)
    if "pu_id" in arrays:  # where the rank ran in this step says more than where it may run
        where["pu_id"] = np.where(np.isnan(arrays["pu_id"]), where["pu_id"], arrays["pu_id"])
    dataset = attach(shapes(scene.cells, scene.cells.measurements), {**arrays, **where})
    _name_nodes(dataset, scene.placement)
    return dataset


def _messages(scene: TopologyScene, frame: Frame) -> vtkPolyData:
    pairs, unknown = pairs_of(frame), unknown_of(frame)
    pairs = joined(pairs.chosen(placed(pairs, scene.cells)), unknown.chosen(placed(unknown, scene.cells)))
    left_out = [
        float(frame.messages[what].sum(dtype=float) - pairs.values[f"sent_{what}"].sum())
        for what in ("count", "bytes")
    ]
    drawn, words = heaviest(pairs)
    ends, inside_node = line_ends(drawn, scene.cells, scene.comm_offset, scene.periodic_BC)
    arrays = {"source": drawn.source, "target": drawn.target, "inside_node": inside_node}
    dataset = attach(segments(ends), {**arrays, **drawn.values})
    attach_to_points(dataset, "radius", radii(drawn, LINE_RADIUS, 2))
    attach_numbers(dataset, "messages_not_drawn", left_out)
    attach_names(dataset, "in_words", [words] if words else [])
    return dataset


def _places(placement: Placement, cells: Cells) -> dict[str, np.ndarray]:
    """The place of each placed rank, by array name."""
    rank = cells.rank
    node = placement.node_id[rank]
    return {
        "rank": rank,
        "node_id": node,
        "host_name": _host_of(placement)[node],
        "package_id": placement.package_id[rank],
        "core_id": placement.core_id[rank],
        "pu_id": placement.pu_id[rank],
    }


def _host_of(placement: Placement) -> np.ndarray:
    """Index of each node's host name among the distinct names, int32 (n_nodes,)."""
    number = {host: i for i, host in enumerate(_hosts(placement))}
    return np.array([number[node.host] for node in placement.nodes], np.int32)


def _hosts(placement: Placement) -> list[str]:
    return list(dict.fromkeys(node.host for node in placement.nodes))


def _name_nodes(dataset: vtkPolyData, placement: Placement) -> None:
    attach_names(dataset, "host_name_names", _hosts(placement))
