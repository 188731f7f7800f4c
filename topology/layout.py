# SPDX-License-Identifier: BSD-3-Clause
"""Places the cells of the topology picture: one table for nodes, their parts, ranks and measurements.

A node is a plane of constant z. Its rows lie above y = 0, with the node on top and the measurements at the
bottom, so messages can run below. x is the place in the machine: the same core has the same x on every node.
Unused parts stay blank. Rows are one unit high and the widest machine is PLANE_WIDTH units wide, so the
picture keeps its proportions from 2 PUs to 256.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .machine import LEVELS, Machine
from .parts import used_parts
from .placement import Placement

PLANE_WIDTH = 24.0
ROW = {"measurement": 0.5, "rank": 1.5}
LOWEST_PART = 3.0
_OPTIONAL = ("numa", "l3", "l2", "l1")


@dataclass(frozen=True)
class Cells:
    """The cells of a picture; all arrays have one value per cell.

    level : uint8, index in LEVELS.
    node : int32, index in placement.nodes.
    number : int32, the node's, part's or rank's own number.
    parent : int32, index in this table of the cell above; for ranks, the smallest part that holds all
        their PUs; -1 for nodes.
    x, y, z, width : float64, centre and full width, in units of one row's height.
    machine, ranks, measurements : slices of the cells of nodes and their parts, of ranks, and of
        measurements. The latter two are in the order of `rank`.
    rank : int32 (n placed ranks,), the ranks that have a place, ascending.
    node_z : float64 (n_nodes,), z of each plane.
    n_ranks : number of the run's ranks, placed or not.
    """

    level: np.ndarray
    node: np.ndarray
    number: np.ndarray
    parent: np.ndarray
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    width: np.ndarray
    machine: slice
    ranks: slice
    measurements: slice
    rank: np.ndarray
    node_z: np.ndarray
    n_ranks: int


def layout(
    placement: Placement,
    inter_node_offset: float,
    extra_gap: np.ndarray | None = None,
    every_level: bool = False,
) -> Cells:
    """Lays a run out in space.

    inter_node_offset : distance between the planes of neighbouring nodes.
    extra_gap : (n_nodes,), extra distance in front of each node; it shows that two nodes are farther apart.
    every_level : also draw NUMA nodes and caches that span the same PUs as a level above or below.
    """
    machines = [node.machine for node in placement.nodes]
    n_nodes = len(machines)
    steps = np.full(n_nodes, float(inter_node_offset))
    steps[:1] = 0
    node_z = np.cumsum(steps if extra_gap is None else steps + extra_gap)
    unit = PLANE_WIDTH / max((len(machine.pus) for machine in machines), default=1)
    levels = _levels(list({id(machine): machine for machine in machines}.values()), every_level)

    rank, left, right = _ranks_side_by_side(placement)
    parts, rank_parent = used_parts(placement, levels, rank)
    n_parts, n_placed = len(parts["node"]), len(rank)

    def column(of_parts, of_ranks, of_measurements, kind):
        return np.concatenate([of_parts, of_ranks, of_measurements]).astype(kind, copy=False)

    def constant(level):
        return np.full(n_placed, LEVELS.index(level), np.uint8)

    node = column(parts["node"], placement.node_id[rank], placement.node_id[rank], np.int32)
    level = column(parts["level"], constant("rank"), constant("measurement"), np.uint8)
    first, last = column(parts["first"], left, left, float), column(parts["last"], right, right, float)
    return Cells(
        level=level,
        node=node,
        number=column(parts["number"], rank, rank, np.int32),
        parent=column(parts["parent"], rank_parent, n_parts + np.arange(n_placed), np.int32),
        x=(first + last) * (unit / 2),
        y=_row_heights(levels)[level],
        z=node_z[node],
        width=(last - first) * unit,
        machine=slice(0, n_parts),
        ranks=slice(n_parts, n_parts + n_placed),
        measurements=slice(n_parts + n_placed, n_parts + 2 * n_placed),
        rank=rank.astype(np.int32),
        node_z=node_z,
        n_ranks=placement.n_ranks,
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


def _row_heights(levels: list[str]) -> np.ndarray:
    """y of the middle of each level's row, by level number; NaN for levels not drawn."""
    heights = np.full(len(LEVELS), np.nan)
    for level, y in ROW.items():
        heights[LEVELS.index(level)] = y
    for row, level in enumerate(reversed(levels)):
        heights[LEVELS.index(level)] = LOWEST_PART + row
    return heights


def _ranks_side_by_side(placement: Placement) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The placed ranks, ascending, and the left and right end of each rank's cell, in PUs.

    A rank's cell spans its PUs. Ranks with common PUs, such as unbound ranks, divide the space over all of
    these PUs evenly, so no cell covers another. Their order from left to right is by first PU, then by rank.
    """
    rank = np.flatnonzero(placement.node_id >= 0)
    node = placement.node_id[rank].astype(np.int64)
    first, last = placement.first[rank].astype(np.int64), placement.last[rank].astype(np.int64)
    left, right = first.astype(float), last.astype(float)
    if not len(rank):
        return rank, left, right
    order = np.lexsort((rank, first, node))
    base = node * (int(last.max()) + 1)
    begin, reach = (base + first)[order], np.maximum.accumulate((base + last)[order])
    starts_group = np.ones(len(rank), bool)
    starts_group[1:] = begin[1:] >= reach[:-1]
    group = np.cumsum(starts_group) - 1
    opening = np.flatnonzero(starts_group)
    size = np.diff(np.append(opening, len(rank)))
    from_pu = first[order][opening]
    to_pu = reach[np.append(opening[1:], len(rank)) - 1] - base[order][opening]
    share = ((to_pu - from_pu) / size)[group]
    turn = np.arange(len(rank)) - opening[group]
    left[order] = from_pu[group] + turn * share
    right[order] = left[order] + share
    return rank, left, right
