# SPDX-License-Identifier: BSD-3-Clause
"""Writes the names of rows at the left of the first plane, the ranks' numbers, and the devices' names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkPolyData
from vtkmodules.vtkCommonTransforms import vtkTransform
from vtkmodules.vtkFiltersCore import vtkAppendPolyData
from vtkmodules.vtkFiltersGeneral import vtkTransformFilter
from vtkmodules.vtkRenderingFreeType import vtkVectorText

from perfield.topology import LEVELS, PLANE_WIDTH, Cells, DeviceCells

from .topology_polydata import attach_nodes, attach_numbers, attach_to_points

WORDS = {"numa": "NUMA", "l3": "L3", "l2": "L2", "l1": "L1", "pu": "PU", "measurement": "values"}
HEIGHT = 0.62  # of a capital letter, in rows
DISTANCE = 0.5  # from the plane
NAMED = 6  # the rows of more nodes have no names
NUMBER = 0.7  # height of a rank's number, as a fraction of its cell
SMALLEST = 0.25  # if some number had to be smaller, in rows, ranks have no numbers
DEVICE_NAME = 0.5  # height of a device's name, in rows
SMALLEST_NAME = 0.36  # smaller ones are left out
WIDTH = 0.85  # of a letter, at most, as a fraction of its height
IN_FRONT = 0.05  # distance of letters from their plane


def row_labels(
    cells: Cells,
    movable: str = "unbound",
    devices: DeviceCells | None = None,
    device_names: Sequence[str] = (),
    below: Sequence[tuple[str, float]] = (),
) -> vtkPolyData:
    """The name of each row, right-aligned at the left end of the first node's plane, and the ranks' numbers.

    movable : a name for the rows of ranks that may run on several cores. below : name and height of rows
    below the planes. devices, device_names : of each
    device; names that do not fit above their devices are left out, and those of rows with more than
    NAMED nodes, where they would be too oblique to read.
    Points carry the node that their text belongs to. With several planes, which are seen from the side,
    letters are wider, so they look right from there.
    """
    letters = vtkAppendPolyData()
    wide = _stretch(cells)
    right = float((cells.x - cells.width / 2).min()) - DISTANCE if len(cells.x) else 0.0
    rows = [*_rows(cells, movable), *below]
    if devices is not None and device_names:
        rows.append(("devices", float(devices.y[0])))
        longest = max(map(len, device_names))
        size = min(DEVICE_NAME, float(devices.width.min()) / (WIDTH * wide * longest))
        for n, name in enumerate(device_names if size >= SMALLEST_NAME else ()):
            at = (float(devices.x[n]), float(devices.y[n]) + 0.9, float(devices.z[n]) + IN_FRONT)
            write(letters, name, at, int(cells.node_at(devices.z[n])), size, wide, 0.5)
    for name, height in rows if len(cells.node_z) <= NAMED else ():
        write(letters, name, (right, height, float(cells.node_z[0])), 0, HEIGHT, wide, 1.0)
    own = slice(cells.ranks.start, cells.ranks.stop)
    digits = len(str(int(cells.rank.max(initial=0))))
    sizes = np.minimum(NUMBER * cells.height[own], 0.9 * cells.width[own] / (wide * digits))
    size = float(sizes.min(initial=1.0))
    if size >= SMALLEST:
        for place, rank in enumerate(cells.rank.tolist()):
            cell = cells.ranks.start + place
            at = (float(cells.line_x[place]), float(cells.y[cell]), float(cells.z[cell]) + IN_FRONT)
            write(letters, str(rank), at, int(cells.node[cell]), size, wide, 0.5)
    if not letters.GetNumberOfInputConnections(0):
        write(letters, "", (0.0, 0.0, 0.0), 0, HEIGHT, wide, 1.0)
    letters.Update()
    attach_numbers(letters.GetOutput(), "stretch", [wide])
    return letters.GetOutput()


def _rows(cells: Cells, movable: str) -> list[tuple[str, float]]:
    """The name and the middle of each row of parts, of bound ranks, and of all other ranks together."""
    rows = []
    fixed = ~cells.movable
    for level in sorted(set(cells.level[fixed].tolist())):
        name = LEVELS[level]
        rows.append((WORDS.get(name, name), float(cells.y[fixed & (cells.level == level)][0])))
    if cells.movable.any():
        y, half = cells.y[cells.movable], cells.height[cells.movable] / 2
        rows.append((movable, float((y - half).min() + (y + half).max()) / 2))
    return rows


def _stretch(cells: Cells) -> float:
    """How much wider letters are, so that they look right where one sees all planes beside one another."""
    if len(cells.node_z) < 2:
        return 1.0
    return float(np.hypot(1.0, PLANE_WIDTH / np.diff(cells.node_z).min()))


def write(
    letters: vtkAppendPolyData,
    text: str,
    at: tuple[float, float, float],
    node: int,
    height: float,
    wide: float,
    aligned: float,
) -> None:
    """Adds a text of a node, whose line is centred on `at`.

    height : of a capital letter. wide : how much wider than normal letters are. aligned : 1.0 puts its right
    end there, 0.5 its middle, 0.0 its left end.
    """
    source = vtkVectorText()
    source.SetText(text)
    source.Update()
    bounds = source.GetOutput().GetBounds()
    place = vtkTransform()
    place.Translate(at[0] - aligned * wide * height * bounds[1], at[1] - 0.4 * height, at[2])
    place.Scale(wide * height, height, 1.0)
    placed = vtkTransformFilter()
    placed.SetTransform(place)
    placed.SetInputConnection(source.GetOutputPort())
    placed.Update()
    written = placed.GetOutput()
    attach_to_points(written, "anchor_x", np.full(written.GetNumberOfPoints(), at[0], np.float32))
    letters.AddInputData(attach_nodes(written, np.full(written.GetNumberOfPoints(), node)))
