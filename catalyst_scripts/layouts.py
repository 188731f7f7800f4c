# SPDX-License-Identifier: BSD-3-Clause
"""Arranges the nodes of the machine picture: flat, as planes, a ring, a double ring, side by side, ...

Written pictures hold planes. A layout moves their points, each with its node, so all layers stay joined and
values stay as they are; `layout_filter.py` does so in ParaView.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flat_layout import Flat  # only ParaView's scripts find one another

LAYOUTS = ("flat", "planes", "ring", "double-ring", "side-by-side", "fat-tree", "torus")
ROUND = ("ring", "double-ring", "torus")  # their nodes are seen from both sides
DEFAULT = "flat"
WITHOUT_SWITCHES = ("side-by-side", "torus")
WIDE = 1.9  # width of the free area of an image over its height
APART = 3.0  # between two nodes side by side, in rows
INSIDE = 2.0  # radius that lines of a doubly rotated ring leave free, in rows
FEW = 32  # so many nodes have as inner radius their number; of more, the planes are at least at:
DENSEST = 2.5  # apart at the inner radius, in rows
BEHIND = 0.5  # distance of lines from nodes side by side
TRUNK = 1.0  # distance of the links from the nodes of a fat tree
PART = 0.1  # of a node's number to both sides, which becomes its part of its switch
LOW = 40.0  # above nodes that together are higher, storeys of switches are higher too, in rows
LETTERS = 6.0  # width of the names of rows, left of the first plane
NAMED = 6  # the rows of more nodes have no names
FIRST = np.pi / 8  # angle of the first node of a torus' groups, so that few nodes are not seen edge-on
SIDEWAYS = np.pi / 8  # of the camera, at most
HEIGHTS = {
    "ring": 0.6,
    "double-ring": 1.1,
    "torus": 0.75,
}  # of the camera, in radians; others: from the front


@dataclass(frozen=True)
class Sizes:
    """The sizes of a picture of planes, in rows.

    z : (n_nodes,) of each plane, ascending. width, top : of the widest plane. comm_offset : how far lines go
    below the planes. switch : int (n_nodes,), the number of each node's switch, from 0; equal where unknown.
    flat : the plan of the flat layout, which no other needs.
    """

    z: np.ndarray
    width: float
    top: float
    comm_offset: float
    switch: np.ndarray
    flat: Flat | None = None

    @property
    def n_nodes(self) -> int:
        """How many nodes the picture has."""
        return len(self.z)

    @property
    def closing(self) -> float:
        """Distance of the last plane to the first one, where planes close a ring: the largest of all."""
        return float(np.diff(self.z).max(initial=0.0)) or 1.0

    @property
    def inner(self) -> float:
        """The inner radius of rings: the number of nodes, as thesis 7.4 recommends, but less of many."""
        return min(float(self.n_nodes), max(FEW, self.n_nodes * DENSEST / (2 * np.pi)))

    def at(self, node_id: np.ndarray) -> np.ndarray:
        """z of nodes, also between two of them, and of the numbers beyond the edge."""
        z = np.concatenate([self.z[:1] - self.closing, self.z, self.z[-1:] + self.closing])
        return np.interp(node_id, np.arange(-1, self.n_nodes + 1), z)

    def turn(self, node_id: np.ndarray) -> np.ndarray:
        """Angle of nodes in a ring, in radians: 2 pi node_id / n_nodes if planes are equally far apart."""
        return 2 * np.pi * (self.at(node_id) - self.z[0]) / (self.z[-1] - self.z[0] + self.closing)

    def grid(self) -> tuple[int, int]:
        """Groups of a torus, and nodes of each: as square as the number of nodes allows.

        The numbers multiply to the number of nodes if such a grid is at most four times longer than wide;
        else the last group has fewer nodes.
        """
        groups = max(1, round(self.n_nodes**0.5))
        divisors = [n for n in range(groups, 0, -1) if self.n_nodes % n == 0]
        if divisors[0] * 2 >= groups:
            groups = divisors[0]
        return groups, -(-self.n_nodes // groups)

    @property
    def step(self) -> tuple[float, float]:
        """Distances of nodes that are side by side, and one below the other."""
        return self.width + APART, self.top + self.comm_offset + APART

    def blocks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Column and row of each node in a fat tree, and both ends in x of its part of the switch.

        Nodes of one switch are below each other, in as many columns as make all of them fill an image.
        """
        order = np.argsort(self.switch, kind="stable")
        size = np.bincount(self.switch)
        turn = np.empty(self.n_nodes, np.int64)
        turn[order] = np.arange(self.n_nodes) - np.repeat(np.cumsum(size) - size, size)
        wide, high = self.step
        columns = int(np.clip(round((size.max() * WIDE * high / wide / len(size)) ** 0.5), 1, size.max()))
        own = np.minimum(size, columns)  # a small switch has a narrow block
        row, column = np.divmod(turn, own[self.switch])
        first = (np.cumsum(own) - own)[self.switch]
        part = (own * wide + TRUNK - APART)[self.switch] / size[self.switch]
        begin = first * wide - TRUNK + turn * part
        return first + column, row, np.stack([begin, begin + part], axis=1)


def moved(layout: str, sizes: Sizes, points: np.ndarray, node_id: np.ndarray, layer: str = "") -> np.ndarray:
    """Points of a picture of planes, (n, 3), in a layout. node_id : (n,). layer : that they belong to.

    Raises ValueError for an unknown layout.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout '{layout}' is unknown; choose one of: {', '.join(LAYOUTS)}")
    if layout == "planes":
        return points
    x, y, z = np.asarray(points, float).reshape(-1, 3).T
    inside = (node_id >= 0) & (node_id <= sizes.n_nodes - 1)
    away = np.where(inside, z - sizes.at(node_id), 0.0)  # from the middle of the node
    return _WAYS[layout](sizes, x, y, away, np.asarray(node_id, float), layer)


def _flat(
    sizes: Sizes, x: np.ndarray, y: np.ndarray, away: np.ndarray, node_id: np.ndarray, layer: str
) -> np.ndarray:
    """Each part below what holds it, as `flat_layout` plans."""
    assert sizes.flat is not None
    return sizes.flat.moved(np.stack([x, y, away], axis=1), node_id, layer)


def _ring(
    sizes: Sizes, x: np.ndarray, y: np.ndarray, away: np.ndarray, node_id: np.ndarray, layer: str
) -> np.ndarray:
    """Planes around a vertical axis (thesis 7.4)."""
    return _around(x + sizes.inner, y, away, sizes.turn(node_id))


def _double_ring(
    sizes: Sizes, x: np.ndarray, y: np.ndarray, away: np.ndarray, node_id: np.ndarray, layer: str
) -> np.ndarray:
    """Each plane is rotated before the ring is made: nodes outside, lines inside (thesis 7.4).

    The thesis' constant 7 must exceed comm_offset, else lines have negative radii; so it grows with it.
    """
    constant = sizes.comm_offset + INSIDE
    return _around(y + constant + sizes.inner, -x, away, sizes.turn(node_id))


def _around(radius: np.ndarray, y: np.ndarray, away: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Points by their distance from the axis y, and `away` from the plane that the axis and a turn span."""
    cosine, sine = np.cos(turn), np.sin(turn)
    return np.stack([radius * cosine - away * sine, y, radius * sine + away * cosine], axis=1)


def _side_by_side(
    sizes: Sizes, x: np.ndarray, y: np.ndarray, away: np.ndarray, node_id: np.ndarray, layer: str
) -> np.ndarray:
    """All planes seen from the front, in rows; an end beyond the edge is half a plane beyond."""
    wide, high = sizes.step
    columns = int(np.clip(round((sizes.n_nodes * WIDE * high / wide) ** 0.5), 1, sizes.n_nodes))
    row, column = np.divmod(np.clip(node_id, 0, sizes.n_nodes - 1), columns)
    along = wide * (column + _beyond(sizes, node_id))
    return np.stack([x + along, y - row * high, away - BEHIND * (layer == "messages")], axis=1)


def _beyond(sizes: Sizes, node_id: np.ndarray) -> np.ndarray:
    """How far ends beyond the edge are beyond the outermost nodes, in nodes."""
    last = sizes.n_nodes - 1
    return np.clip(node_id, -0.5, last + 0.5) - np.clip(node_id, 0, last)


def _fat_tree(
    sizes: Sizes, x: np.ndarray, y: np.ndarray, away: np.ndarray, node_id: np.ndarray, layer: str
) -> np.ndarray:
    """The nodes of each switch below it, seen from the front; the switches above all of them."""
    column, row, parts = sizes.blocks()
    wide, high = sizes.step
    node = np.clip(node_id, 0, sizes.n_nodes - 1)
    at = np.round(node).astype(int)
    if layer in ("switches", "links"):
        places = np.arange(sizes.n_nodes)[:, None] + (-PART, PART)
        along = np.interp(node_id, places.ravel(), parts.ravel())
        is_lower = to_node = np.zeros(len(y), bool)
        if layer == "links":  # the first point of a link is its lower end
            to_node = np.repeat(y[0::2] <= sizes.top, 2)
            is_lower = to_node & (y <= sizes.top)
            along = np.where(to_node, column[at] * wide - TRUNK, along)
        storeys = max(1.0, (row.max() + 1) * high / LOW)
        height = np.where(is_lower, y - row[at] * high, sizes.top + (y - sizes.top) * storeys)
        return np.stack([along, height, np.full(len(y), -BEHIND)], axis=1)
    along = wide * (column[at] + _beyond(sizes, node_id))
    return np.stack([x + along, y - row[at] * high, away - BEHIND * (layer == "messages")], axis=1)


def _torus(
    sizes: Sizes, x: np.ndarray, y: np.ndarray, away: np.ndarray, node_id: np.ndarray, layer: str
) -> np.ndarray:
    """Doubly rotated rings of some nodes each, which are themselves around an axis.

    Neighbours within a group, and equal places of neighbouring groups, are near each other, also across the
    edges. So messages of a grid that is periodic in two directions are short lines inside the tube.
    """
    groups, members = sizes.grid()
    group, member = np.divmod(np.mod(node_id, sizes.n_nodes), members)
    small = 2 * np.pi * member / members + FIRST
    free = members + sizes.comm_offset + INSIDE
    outer = free + sizes.top
    hole = groups * (sizes.width + APART) / (2 * np.pi) if groups > 1 else -outer
    out = (y + free) * np.cos(small) - away * np.sin(small) + hole + outer
    up = (y + free) * np.sin(small) + away * np.cos(small)
    along = x - sizes.width / 2
    turn = 2 * np.pi * group / groups
    return _around(out, up, along, turn)


_WAYS: dict[str, Callable[..., np.ndarray]] = {
    "flat": _flat,
    "ring": _ring,
    "double-ring": _double_ring,
    "side-by-side": _side_by_side,
    "fat-tree": _fat_tree,
    "torus": _torus,
}


def has_letters(layout: str, n_nodes: int) -> bool:
    """Whether the names of the rows are at the first plane; else they would not be legible."""
    return layout not in ROUND and n_nodes <= NAMED


def direction(layout: str, n_nodes: int) -> tuple[float, float, float]:
    """In which direction the camera looks; from slightly sideways, so that no plane is seen edge-on."""
    sideways = min(np.pi / (2 * n_nodes), SIDEWAYS) if layout in ROUND else 0.0
    above = HEIGHTS.get(layout, 0.0)
    flat = np.cos(above)
    return float(flat * np.sin(sideways)), float(-np.sin(above)), float(-flat * np.cos(sideways))
