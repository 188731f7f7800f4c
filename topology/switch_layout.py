# SPDX-License-Identifier: BSD-3-Clause
"""Places the switches of the topology picture, as links between the planes of their nodes.

Switches are in the plane x = 0, above the nodes: a switch spans from the first to the last plane below it,
and each level of the tree is one storey higher. Switches of one level that would overlap, such as the spines
of a fat tree, are one above the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .layout import Cells
from .network import Switches

CLEAR = 4.5  # between the nodes and the lowest switches: room for the names of the nodes
STOREY = 3.0  # between two levels
LANES = 4.0  # more switches one above the other become lower, so that together they stay as high
OVERHANG = 0.3  # of a switch beyond its outermost planes, as a fraction of the distance between planes


@dataclass(frozen=True)
class SwitchCells:
    """The places of the switches and of the lines that join them, in units of one row's height.

    y, height, first_z, last_z : float64 (n_switches,), middle and size in the plane x = 0.
    below : bool (n_switches, n_nodes), the nodes that a switch leads down to.
    link_ends : float64 (n_links, 2, 3), lower and upper end of each line: first those of the nodes, then
        those between switches.
    link_node : int32 (n_links,), the node at the lower end; -1 if that is a switch.
    link_switch : int32 (n_links,), the switch at the upper end.
    """

    y: np.ndarray
    height: np.ndarray
    first_z: np.ndarray
    last_z: np.ndarray
    below: np.ndarray
    link_ends: np.ndarray
    link_node: np.ndarray
    link_switch: np.ndarray


def layout_switches(switches: Switches, cells: Cells) -> SwitchCells:
    """Places the switches of a run above its nodes. The order of switches is that of `switches`."""
    below = nodes_below(switches)
    distance = float(np.diff(cells.node_z).min(initial=np.inf))
    overhang = OVERHANG * (distance if np.isfinite(distance) else 1.0)
    is_below = np.where(below.any(axis=1, keepdims=True), below, True)  # one that leads nowhere spans all
    z = cells.node_z[None, :]
    first_z = np.where(is_below, z, np.inf).min(axis=1, initial=np.inf) - overhang
    last_z = np.where(is_below, z, -np.inf).max(axis=1, initial=-np.inf) + overhang
    top = float((cells.y + cells.height / 2)[cells.machine].max(initial=0.0))
    y, height = _storeys(switches.level, first_z, last_z, top + CLEAR)

    node = np.flatnonzero(switches.of_node >= 0)
    lower, upper = switches.links.T
    leaf = switches.of_node[node]
    at = np.clip((first_z + last_z)[lower] / 2, first_z[upper], last_z[upper])
    link_z = np.concatenate([cells.node_z[node], at])
    link_switch = np.concatenate([leaf, upper]).astype(np.int32)
    ends = np.zeros((len(link_z), 2, 3))
    ends[:, :, 2] = link_z[:, None]
    ends[: len(node), 0, 1] = top
    ends[len(node) :, 0, 1] = (y + height / 2)[lower]
    ends[:, 1, 1] = (y - height / 2)[link_switch]
    link_node = np.concatenate([node, np.full(len(lower), -1)]).astype(np.int32)
    return SwitchCells(y, height, first_z, last_z, below, ends, link_node, link_switch)


def nodes_below(switches: Switches) -> np.ndarray:
    """Whether each switch leads down to each node of the run, bool (n_switches, n_nodes)."""
    below = np.zeros((len(switches.name), len(switches.of_node)), bool)
    known = np.flatnonzero(switches.of_node >= 0)
    below[switches.of_node[known], known] = True
    order = np.argsort(switches.level[switches.links[:, 0]], kind="stable")
    for lower, upper in switches.links[order].tolist():
        below[upper] |= below[lower]
    return below


def _storeys(
    level: np.ndarray, first_z: np.ndarray, last_z: np.ndarray, bottom: float
) -> tuple[np.ndarray, np.ndarray]:
    """Middle and height of each switch; overlapping ones of a level have rows of their own."""
    y, height = np.zeros(len(level)), np.ones(len(level))
    for one in np.unique(level):
        mine = np.flatnonzero(level == one)
        mine = mine[np.lexsort((mine, first_z[mine]))]
        ends: list[float] = []  # of the last switch in each row
        row = np.zeros(len(mine), np.int64)
        for place, switch in enumerate(mine):
            free = next((n for n, end in enumerate(ends) if end < first_z[switch]), len(ends))
            ends[free : free + 1] = [last_z[switch]]
            row[place] = free
        size = min(1.0, LANES / (1.5 * len(ends)))
        height[mine] = size
        y[mine] = bottom + size * (0.5 + 1.5 * row)
        bottom += size * (1.5 * len(ends) - 0.5) + STOREY
    return y, height
