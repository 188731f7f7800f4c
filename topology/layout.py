# SPDX-License-Identifier: BSD-3-Clause
"""Places the cells of the topology picture: one table for nodes, their parts, ranks and measurements.

A node is a plane of constant z. Its rows lie above y = 0, with the node on top and the measurements at the
bottom, so messages can run below. x is the place in the machine: the same core has the same x on every node.
Unused parts stay blank. Rows are one unit high and the widest machine is PLANE_WIDTH units wide, so the
picture keeps its proportions from 2 PUs to 256.

A rank that is bound to a core is below it. Ranks that may run on several cores divide the space below all of
these, in a second row with pointed cells where others are bound, so they never seem to be pinned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .machine import LEVELS, Machine
from .parts import used_parts
from .placement import Placement, machines_of
from .sharing import chains

PLANE_WIDTH = 24.0
ALL_PLANES = 30.0  # depth of all planes together, if the distance between planes is chosen, but it is in:
DISTANCES = (2.5, 24.0)
SWITCH_GAP = 0.5  # extra distance where the leaf switch changes, as a fraction of the distance
PAIR = 2.0  # height of a rank's cell with its measurement's
DEVICE_ROW = 1.7  # height of the row of devices, with their names above them
ABOVE_RANKS = 1.0  # distance of the middle of the lowest part from the ranks
_OPTIONAL = ("numa", "l3", "l2", "l1")


@dataclass(frozen=True)
class Cells:
    """The cells of a picture; all arrays have one value per cell.

    level : uint8, index in LEVELS.
    node : int32, index in placement.nodes.
    number : int32, the node's, part's or rank's own number.
    parent : int32, index in this table of the cell above; for ranks, the smallest part that holds all
        their PUs; -1 for nodes.
    x, y, z, width, height : float64, centre and full size, in units of one row's height.
    movable : bool, the cell is of a rank that may run on several cores.
    machine, ranks, measurements : slices of the cells of nodes and their parts, of ranks, and of
        measurements. The latter two are in the order of `rank`.
    rank : int32 (n placed ranks,), the ranks that have a place, ascending.
    line_x : float64 (n placed ranks,), x where the lines of a rank's messages begin: the middle of its cell.
    node_z : float64 (n_nodes,), z of each plane.
    n_ranks : number of the run's ranks, placed or not.
    unit : width of one PU.
    """

    level: np.ndarray
    node: np.ndarray
    number: np.ndarray
    parent: np.ndarray
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    width: np.ndarray
    height: np.ndarray
    movable: np.ndarray
    machine: slice
    ranks: slice
    measurements: slice
    rank: np.ndarray
    line_x: np.ndarray
    node_z: np.ndarray
    n_ranks: int
    unit: float

    def node_at(self, z: np.ndarray) -> np.ndarray:
        """The number of the node at each z, float64; a fraction between planes and beyond the outer ones."""
        last = len(self.node_z) - 1
        if last < 1:
            return np.zeros(np.shape(z))
        at = np.clip(np.searchsorted(self.node_z, z, side="right") - 1, 0, last - 1)
        return at + (z - self.node_z[at]) / (self.node_z[at + 1] - self.node_z[at])


def layout(
    placement: Placement,
    inter_node_offset: float,
    every_level: bool = False,
    device_row: bool = False,
) -> Cells:
    """Lays a run out in space.

    Neighbouring nodes on different switches are farther apart, by SWITCH_GAP (thesis, Figure 7.16).
    inter_node_offset : distance between the planes of neighbouring nodes; 0 takes one at which a view from
        the side shows all planes without overlap and as large as possible.
    every_level : also draw NUMA nodes and caches that span the same PUs as a level above or below.
    device_row : leave a row free below the nodes, for `layout_devices`.
    """
    machines = [node.machine for node in placement.nodes]
    n_nodes = len(machines)
    steps = np.ones(n_nodes)
    steps[1:] += SWITCH_GAP * (np.diff(placement.switches.of_node) != 0)
    if not inter_node_offset:
        inter_node_offset = float(np.clip(ALL_PLANES / max(steps.sum(), 1), *DISTANCES))
    steps[:1] = 0
    node_z = np.cumsum(inter_node_offset * steps)
    unit = PLANE_WIDTH / max((len(machine.pus) for machine in machines), default=1)
    levels = _levels(machines_of(placement.nodes)[0], every_level)

    rank = np.flatnonzero(placement.node_id >= 0)
    columns = _columns_of_ranks(placement, rank)
    parts, rank_parent = used_parts(placement, levels, rank)
    if not every_level and len(rank):
        levels = _told_apart(levels, parts["level"][rank_parent])
        parts, rank_parent = used_parts(placement, levels, rank)
    n_parts, n_placed = len(parts["node"]), len(rank)

    def column(of_parts, of_ranks, of_measurements, kind):
        return np.concatenate([of_parts, of_ranks, of_measurements]).astype(kind, copy=False)

    def constant(level):
        return np.full(n_placed, LEVELS.index(level), np.uint8)

    node = column(parts["node"], placement.node_id[rank], placement.node_id[rank], np.int32)
    level = column(parts["level"], constant("rank"), constant("measurement"), np.uint8)
    first = column(parts["first"], columns.left, columns.left, float)
    last = column(parts["last"], columns.right, columns.right, float)
    bottom = PAIR * (columns.n_rows - 1 - columns.row)
    lowest_part = PAIR * max(columns.n_rows, 1) + ABOVE_RANKS
    row_heights = _row_heights(levels, lowest_part)
    row_heights[LEVELS.index("node")] += DEVICE_ROW * device_row
    heights = row_heights[parts["level"]]
    movable = placement.movable[rank]
    return Cells(
        level=level,
        node=node,
        number=column(parts["number"], rank, rank, np.int32),
        parent=column(parts["parent"], rank_parent, n_parts + np.arange(n_placed), np.int32),
        x=(first + last) * (unit / 2),
        y=column(heights, bottom + 1.5, bottom + 0.5, float),
        z=node_z[node],
        width=(last - first) * unit,
        height=np.ones(n_parts + 2 * n_placed),
        movable=column(np.zeros(n_parts, bool), movable, movable, bool),
        machine=slice(0, n_parts),
        ranks=slice(n_parts, n_parts + n_placed),
        measurements=slice(n_parts + n_placed, n_parts + 2 * n_placed),
        rank=rank.astype(np.int32),
        line_x=(columns.left + columns.right) * (unit / 2),
        node_z=node_z,
        n_ranks=placement.n_ranks,
        unit=unit,
    )


def _levels(machines: list[Machine], every_level: bool) -> list[str]:
    """The levels to draw, from top to bottom: each differs from the others on at least one machine."""
    drawn = {"node", "package", "core", "pu"}
    for machine in machines:
        seen = {machine.spans(level) for level in drawn - set(_OPTIONAL)}
        for level in _OPTIONAL:
            spans = machine.spans(level)
            if spans and (every_level or spans not in seen):
                drawn.add(level)
                seen.add(spans)
    levels = [
        level for level in LEVELS if level in drawn and any(machine.spans(level) for machine in machines)
    ]
    if {"numa", "l3"} <= set(levels):
        both = next(
            (m for m in machines if m.level("l3") and len(m.level("numa")) != len(m.level("l3"))), None
        )
        if both and len(both.level("l3")) < len(both.level("numa")):  # a cache around several NUMA nodes
            numa = levels.index("numa")
            levels[numa : numa + 2] = ["l3", "numa"]
    return levels


def _told_apart(levels: list[str], of_ranks: np.ndarray) -> list[str]:
    """Levels down to the lowest that holds a rank, and the PUs: no rank is in any part of those between.

    levels : from top to bottom. of_ranks : level numbers of the smallest parts that hold each rank.
    """
    lowest = max(levels.index(LEVELS[level]) for level in np.unique(of_ranks))
    return [*levels[: lowest + 1], *levels[lowest + 1 :][-1:]]


def _row_heights(levels: list[str], lowest: float) -> np.ndarray:
    """y of the middle of each part's row, by level number; NaN for levels not drawn."""
    heights = np.full(len(LEVELS), np.nan)
    for row, level in enumerate(reversed(levels)):
        heights[LEVELS.index(level)] = lowest + row
    return heights


@dataclass(frozen=True)
class _Columns:
    """Places of ranks across a plane; all but n_rows have shape (n placed ranks,).

    left, right : ends of a rank's cell, in PUs. row : 0 is the top row.
    """

    left: np.ndarray
    right: np.ndarray
    row: np.ndarray
    n_rows: int


def _columns_of_ranks(placement: Placement, rank: np.ndarray) -> _Columns:
    """Puts ranks that are bound to a core below it, and the others below these.

    Ranks that are bound to the same core divide its space, and so do ranks that may run on the same cores, in
    a row below: from left to right by first PU, then by rank.
    """
    left, right = placement.first[rank].astype(float), placement.last[rank].astype(float)
    row, movable = np.zeros(len(rank), np.int64), placement.movable[rank]
    bound, free = np.flatnonzero(~movable), np.flatnonzero(movable)
    row[free] = int(len(bound) > 0)
    for mine in (bound, free):
        if not len(mine):
            continue
        group = chains(placement, rank[mine])
        size = np.bincount(group)
        turn = np.empty(len(mine), np.int64)
        order = np.lexsort((left[mine], group))
        begin = np.cumsum(size) - size  # every group has a member
        turn[order] = np.arange(len(mine)) - np.repeat(begin, size)
        from_pu = np.minimum.reduceat(left[mine[order]], begin)
        to_pu = np.maximum.reduceat(right[mine[order]], begin)
        share = ((to_pu - from_pu) / size)[group]
        left[mine] = from_pu[group] + turn * share
        right[mine] = left[mine] + share
    return _Columns(left, right, row, int(row.max(initial=-1)) + 1)
