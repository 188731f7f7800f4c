# SPDX-License-Identifier: BSD-3-Clause
"""Arranges the nodes of the machine picture: as planes, a ring, a doubly rotated ring, side by side, ...

Written pictures hold planes. A layout moves their points, each with its node, so all layers stay joined and
values stay as they are. In ParaView, the filter "layout" does it: its script begins with the layout's name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkCompositeDataSet

LAYOUTS = ("planes", "ring", "double-ring", "side-by-side", "fat-tree", "torus")
SCRIPT = """\
layout = "{layout}"  # one of: {known}
import layouts
layouts.arrange(self, layout)
"""
WIDE = 1.9  # width of the free area of an image over its height
APART = 3.0  # between two nodes side by side, in rows
INSIDE = 2.0  # radius that lines of a doubly rotated ring leave free, in rows
BEHIND = 0.5  # distance of lines from nodes side by side
LETTERS = 6.0  # width of the names of rows, left of the first plane
ASIDE = np.pi / 8  # of the camera, at most
HEIGHTS = {"ring": 0.6, "double-ring": 0.9, "side-by-side": 0.0, "torus": 0.75}  # of the camera, in radians


@dataclass(frozen=True)
class Sizes:
    """The sizes of a picture of planes, in rows.

    z : (n_nodes,) of each plane, ascending. width, top : of the widest plane. comm_offset : how far lines go
    below the planes.
    """

    z: np.ndarray
    width: float
    top: float
    comm_offset: float

    @classmethod
    def of(cls, planes: Any) -> Sizes:
        """The sizes that the layer `planes` tells."""
        corners = vtk_to_numpy(planes.GetPoints().GetData()).reshape(-1, 4, 3) if planes.GetPoints() else None
        if corners is None or not len(corners):
            return cls(np.zeros(1), 1.0, 1.0, 1.0)
        told = planes.GetFieldData().GetArray("comm_offset")
        below = float(told.GetValue(0)) if told is not None else 0.0
        return cls(corners[:, 0, 2], float(corners[..., 0].max()), float(corners[..., 1].max()), below)

    @property
    def n_nodes(self) -> int:
        """How many nodes the picture has."""
        return len(self.z)

    @property
    def closing(self) -> float:
        """Distance of the last plane to the first one, where planes close a ring: the largest of all."""
        return float(np.diff(self.z).max(initial=0.0)) or 1.0

    def at(self, node_id: np.ndarray) -> np.ndarray:
        """z of nodes, also between two of them, and of the numbers beyond the edge."""
        z = np.concatenate([self.z[:1] - self.closing, self.z, self.z[-1:] + self.closing])
        return np.interp(node_id, np.arange(-1, self.n_nodes + 1), z)

    def turn(self, node_id: np.ndarray) -> np.ndarray:
        """Angle of nodes in a ring, in radians: 2 pi node_id / n_nodes if all planes are equally far apart."""
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

    def columns(self) -> int:
        """How many nodes stand in one row, so that all together fill an image."""
        high, wide = self.top + self.comm_offset + APART, self.width + APART
        return int(np.clip(round((self.n_nodes * WIDE * high / wide) ** 0.5), 1, self.n_nodes))


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


def _ring(
    sizes: Sizes, x: np.ndarray, y: np.ndarray, away: np.ndarray, node_id: np.ndarray, layer: str
) -> np.ndarray:
    """Planes around a vertical axis; the inner radius is the number of nodes (thesis 7.4)."""
    return _around(x + sizes.n_nodes, y, away, sizes.turn(node_id))


def _double_ring(
    sizes: Sizes, x: np.ndarray, y: np.ndarray, away: np.ndarray, node_id: np.ndarray, layer: str
) -> np.ndarray:
    """Each plane is rotated before the ring is made: nodes outside, lines inside (thesis 7.4).

    The thesis' constant 7 must exceed comm_offset, else lines have negative radii; so it grows with it.
    """
    constant = sizes.comm_offset + INSIDE
    return _around(y + constant + sizes.n_nodes, -x, away, sizes.turn(node_id))


def _around(radius: np.ndarray, y: np.ndarray, away: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Points by their distance from the axis y, and `away` from the plane that the axis and a turn span."""
    cosine, sine = np.cos(turn), np.sin(turn)
    return np.stack([radius * cosine - away * sine, y, radius * sine + away * cosine], axis=1)


def _side_by_side(
    sizes: Sizes, x: np.ndarray, y: np.ndarray, away: np.ndarray, node_id: np.ndarray, layer: str
) -> np.ndarray:
    """All planes seen from the front, in rows; an end beyond the edge is half a plane beyond."""
    columns, last = sizes.columns(), sizes.n_nodes - 1
    beyond = np.clip(node_id, -0.5, last + 0.5) - np.clip(node_id, 0, last)
    row, column = np.divmod(np.clip(node_id, 0, last), columns)
    across = x + (column + beyond) * (sizes.width + APART)
    along = y - row * (sizes.top + sizes.comm_offset + APART)
    return np.stack([across, along, away - BEHIND * (layer == "messages")], axis=1)


def _fat_tree(
    sizes: Sizes, x: np.ndarray, y: np.ndarray, away: np.ndarray, node_id: np.ndarray, layer: str
) -> np.ndarray:
    """Planes, with the switches above them."""
    return np.stack([x, y, away + sizes.at(node_id)], axis=1)


def _torus(
    sizes: Sizes, x: np.ndarray, y: np.ndarray, away: np.ndarray, node_id: np.ndarray, layer: str
) -> np.ndarray:
    """Doubly rotated rings of some nodes each, which themselves stand around an axis.

    Neighbours within a group, and equal places of neighbouring groups, are near each other, also across the
    edges. So messages of a grid that is periodic in two directions are short lines inside the tube.
    """
    groups, members = sizes.grid()
    group, member = np.divmod(np.mod(node_id, sizes.n_nodes), members)
    small = 2 * np.pi * member / members
    radius = y + members + sizes.comm_offset + INSIDE
    outer = members + sizes.comm_offset + INSIDE + sizes.top
    hole = groups * (sizes.width + APART) / (2 * np.pi) if groups > 1 else -outer
    out = radius * np.cos(small) - away * np.sin(small) + hole + outer
    up = radius * np.sin(small) + away * np.cos(small)
    large = 2 * np.pi * group / groups
    along = x - sizes.width / 2
    cosine, sine = np.cos(large), np.sin(large)
    return np.stack([out * cosine - along * sine, up, out * sine + along * cosine], axis=1)


_WAYS: dict[str, Callable[..., np.ndarray]] = {
    "ring": _ring,
    "double-ring": _double_ring,
    "side-by-side": _side_by_side,
    "fat-tree": _fat_tree,
    "torus": _torus,
}
ROUND = ("ring", "double-ring", "torus")  # their nodes are seen from both sides


def hull(layout: str, sizes: Sizes) -> np.ndarray:
    """Points (n, 3) around all nodes and their lines in a layout."""
    left = -LETTERS if layout == "side-by-side" else 0.0
    x, y = np.meshgrid([left, sizes.width], [-sizes.comm_offset, sizes.top])
    nodes = np.repeat(np.arange(sizes.n_nodes), 4)
    each = np.stack([np.tile(x.ravel(), sizes.n_nodes), np.tile(y.ravel(), sizes.n_nodes), sizes.z[nodes]], 1)
    return moved(layout, sizes, each, nodes)


def direction(layout: str, sizes: Sizes) -> tuple[float, float, float]:
    """In which direction the camera looks; from a little aside, so that no plane is seen edge-on."""
    aside = min(np.pi / (2 * sizes.n_nodes), ASIDE) if layout in ROUND else 0.0
    flat = np.cos(HEIGHTS[layout])
    return float(flat * np.sin(aside)), float(-np.sin(HEIGHTS[layout])), float(-flat * np.cos(aside))


def arrange(programmable: Any, layout: str) -> None:
    """Fills the output of a Programmable Filter: its input's layers in a layout."""
    arranged(programmable.GetInputDataObject(0, 0), programmable.GetOutputDataObject(0), layout)


def arranged(pictures: Any, result: Any, layout: str) -> None:
    """Makes `result` the layers of a machine picture (composite data) in a layout; the input stays."""
    result.RecursiveShallowCopy(pictures)
    layers = leaves(result)
    sizes = Sizes.of(layers["planes"])
    if layout != "planes":
        for name, data in layers.items():
            if data.GetPoints() is not None and data.GetNumberOfPoints():
                _move(data, layout, sizes, name)


def _move(data: Any, layout: str, sizes: Sizes, layer: str) -> None:
    before = vtk_to_numpy(data.GetPoints().GetData())
    node_id = vtk_to_numpy(data.GetPointData().GetArray("node_id"))
    if layer == "labels":
        before = _narrow(data, before)
    after = moved(layout, sizes, before, node_id, layer)
    points = vtkPoints()
    points.SetData(numpy_to_vtk(after.astype(np.float32), deep=True))
    data.SetPoints(points)
    if layer == "planes" and layout in ROUND:
        _outline(data)


def _narrow(labels: Any, points: np.ndarray) -> np.ndarray:
    """The letters without the stretch that they have because planes are seen from the side."""
    anchor, stretch = labels.GetPointData().GetArray("anchor_x"), labels.GetFieldData().GetArray("stretch")
    if anchor is None or stretch is None:
        return points
    narrow, middle = points.copy(), vtk_to_numpy(anchor)
    narrow[:, 0] = middle + (points[:, 0] - middle) / stretch.GetValue(0)
    return narrow


def _outline(planes: Any) -> None:
    """Makes outlines of rectangles, which hide nothing when one sees nodes from behind."""
    corners = vtk_to_numpy(planes.GetPolys().GetConnectivityArray()).reshape(-1, 4)
    closed = np.concatenate([corners, corners[:, :1]], axis=1).astype(np.int64)
    offsets = np.arange(len(closed) + 1) * 5
    lines = vtkCellArray()
    lines.SetData(numpy_to_vtk(offsets, deep=True), numpy_to_vtk(closed.ravel(), deep=True))
    planes.SetPolys(vtkCellArray())
    planes.SetLines(lines)


def leaves(data: Any) -> dict[str, Any]:
    """The datasets of composite data by name."""
    iterator = data.NewIterator()
    iterator.InitTraversal()
    found = {}
    while not iterator.IsDoneWithTraversal():
        found[iterator.GetCurrentMetaData().Get(vtkCompositeDataSet.NAME())] = iterator.GetCurrentDataObject()
        iterator.GoToNextItem()
    return found
