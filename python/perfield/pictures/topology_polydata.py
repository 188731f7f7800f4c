# SPDX-License-Identifier: BSD-3-Clause
"""Makes vtkPolyData from NumPy arrays: cells of the topology picture, and straight lines.

All arrays are copied, so the callers may reuse theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkAbstractArray, vtkDoubleArray, vtkPoints, vtkStringArray
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData

from perfield.pictures.vtk_arrays import vtk_array
from perfield.topology import LEVELS, Cells, DeviceCells, SwitchCells

CELL_HEIGHT = 0.86
SIDE_GAP = 0.05  # free space on each side of a cell, as a fraction of its width, but at most:
WIDEST_SIDE_GAP = 0.08
BORDER = 0.15  # of a plane around its cells
BENDS = 32  # parts of a switch that spans all planes, at least
BEHIND = 0.05  # distance of a plane from its cells
BLOCK = 1 << 13  # rectangles made at once
NODE_ID = "node_id"  # of each point, for filters that move nodes


def shapes(cells: Cells, which: slice) -> vtkPolyData:
    """One upright cell per cell of a slice of the table, in table order. Its points carry their node.

    Cells are rectangles. Those of ranks that may run on several cores are bars with pointed ends.
    """
    columns = (cells.x, cells.y, cells.z, cells.width, cells.height, cells.movable, cells.node)
    return _shapes(*(column[which] for column in columns))


def device_shapes(places: DeviceCells, node: np.ndarray) -> vtkPolyData:
    """One upright rectangle per device. node : the node of each; its points carry it."""
    n_devices = len(node)
    height, pointed = np.ones(n_devices), np.zeros(n_devices, bool)
    return _shapes(places.x, places.y, places.z, places.width, height, pointed, node)


def thread_shapes(
    x: np.ndarray, y: np.ndarray, z: np.ndarray, width: np.ndarray, height: np.ndarray, node: np.ndarray
) -> vtkPolyData:
    """One upright rectangle for each centre and full size; its points carry its node."""
    return _shapes(x, y, z, width, height, np.zeros(len(x), bool), node)


def _shapes(
    x: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    width: np.ndarray,
    height: np.ndarray,
    pointed: np.ndarray,
    node: np.ndarray,
) -> vtkPolyData:
    """Rectangles, and bars with pointed ends, by their centres and full sizes; points carry their node."""
    half = width / 2 - np.minimum(SIDE_GAP * width, WIDEST_SIDE_GAP)
    rise = height * (CELL_HEIGHT / 2)
    if not pointed.any():
        return _rectangles(x, y, z, half, rise, node)
    straight = half - np.where(pointed, np.minimum(rise, half / 4), 0.0)
    ways = [(-straight, -rise), (straight, -rise), (half, 0), (straight, rise), (-straight, rise), (-half, 0)]
    corners = np.empty((len(x), len(ways), 3), np.float32)  # counter-clockwise from the lower left
    for corner, (across, up) in enumerate(ways):
        corners[:, corner, 0], corners[:, corner, 1] = x + across, y + up
    corners[:, :, 2] = z[:, None]
    used = np.ones((len(x), 6), bool)
    used[:, (2, 5)] = pointed[:, None]
    sizes = used.sum(axis=1)
    dataset = vtkPolyData()
    dataset.SetPoints(_points(corners[used]))
    dataset.SetPolys(_cells(sizes))
    return attach_nodes(dataset, np.repeat(node, sizes))


def _rectangles(
    x: np.ndarray, y: np.ndarray, z: np.ndarray, half: np.ndarray, rise: np.ndarray, node: np.ndarray
) -> vtkPolyData:
    """Rectangles by their centres and half sizes; a block at a time, which stays in the cache."""
    corners = np.empty((len(x), 4, 3), np.float32)  # counter-clockwise from the lower left
    for begin in range(0, len(x), BLOCK):
        rows = slice(begin, begin + BLOCK)
        corners[rows, :, 0] = x[rows, None] + half[rows, None] * (-1, 1, 1, -1)
        corners[rows, :, 1] = y[rows, None] + rise[rows, None] * (-1, -1, 1, 1)
        corners[rows, :, 2] = z[rows, None]
    dataset = vtkPolyData()
    dataset.SetPoints(_points(corners))
    dataset.SetPolys(_cells(np.full(len(x), 4)))
    return attach_nodes(dataset, np.repeat(node, 4))


def planes(cells: Cells) -> vtkPolyData:
    """One rectangle behind all cells of each node, so that nothing shines through.

    Its points carry their node.
    """
    tops = cells.level == LEVELS.index("node")
    right, top, z = (cells.x + cells.width / 2)[tops], (cells.y + cells.height / 2)[tops], cells.z[tops]
    corners = np.empty((len(z), 4, 3), np.float32)
    corners[:, (0, 3), 0] = -BORDER
    corners[:, (1, 2), 0] = (right + BORDER)[:, None]
    corners[:, :2, 1] = 0.0
    corners[:, 2:, 1] = (top + BORDER)[:, None]
    corners[:, :, 2] = (z - BEHIND)[:, None]
    dataset = vtkPolyData()
    dataset.SetPoints(_points(corners))
    dataset.SetPolys(_cells(np.full(len(z), 4)))
    return attach_nodes(dataset, np.repeat(np.arange(len(z)), 4))


def switch_bars(places: SwitchCells, cells: Cells) -> vtkPolyData:
    """One upright strip in the plane x = 0 per switch.

    A strip has points at both of its ends and at each plane between them, and more where planes are few, so
    that layouts may bend it.
    Between planes, the node of a point is a fraction.
    """
    along = [
        np.concatenate([[first], cells.node_z[(first < cells.node_z) & (cells.node_z < last)], [last]])
        for first, last in zip(places.first_z, places.last_z)
    ]
    finer = -(-BENDS // max(len(cells.node_z), 1))
    along = [np.interp(np.arange((len(z) - 1) * finer + 1) / finer, np.arange(len(z)), z) for z in along]
    size = np.array([len(z) for z in along], np.int64)
    z = np.repeat(np.concatenate([*along, np.zeros(0)]), 2)
    up = np.tile([-0.5, 0.5], len(z) // 2)
    corners = np.zeros((len(z), 3), np.float32)
    corners[:, 1] = np.repeat(places.y, 2 * size) + up * np.repeat(places.height, 2 * size)
    corners[:, 2] = z
    dataset = vtkPolyData()
    dataset.SetPoints(_points(corners))
    dataset.SetStrips(_cells(2 * size))
    return attach_nodes(dataset, cells.node_at(z))


def rectangles(boxes: np.ndarray, z: float) -> vtkPolyData:
    """One upright rectangle per row of boxes, (n, 4): left, right, lower and upper end; without arrays."""
    corners = np.empty((len(boxes), 4, 3), np.float32)  # counter-clockwise from the lower left
    corners[:, (0, 3), 0], corners[:, (1, 2), 0] = boxes[:, 0, None], boxes[:, 1, None]
    corners[:, :2, 1], corners[:, 2:, 1] = boxes[:, 2, None], boxes[:, 3, None]
    corners[:, :, 2] = z
    dataset = vtkPolyData()
    dataset.SetPoints(_points(corners))
    dataset.SetPolys(_cells(np.full(len(boxes), 4)))
    return dataset


def bars_and_lines(ends: np.ndarray, boxes: np.ndarray, z: np.ndarray) -> vtkPolyData:
    """Lines by their ends (n, 2, 3), then upright rectangles by left, right, low, high (m, 4) and z (m,)."""
    corners = np.empty((len(boxes), 4, 3), np.float32)  # counter-clockwise from the lower left
    corners[:, (0, 3), 0], corners[:, (1, 2), 0] = boxes[:, 0, None], boxes[:, 1, None]
    corners[:, :2, 1], corners[:, 2:, 1] = boxes[:, 2, None], boxes[:, 3, None]
    corners[:, :, 2] = z[:, None]
    dataset = vtkPolyData()
    dataset.SetPoints(
        _points(np.concatenate([ends.reshape(-1, 3).astype(np.float32), corners.reshape(-1, 3)]))
    )
    dataset.SetLines(_cells(np.full(len(ends), 2)))
    dataset.SetPolys(_cells(np.full(len(boxes), 4), 2 * len(ends)))
    return dataset


def polygons(points: np.ndarray, sizes: np.ndarray) -> vtkPolyData:
    """Polygons of `sizes` points each, (n_cells,), in the order of points, float32 (n, 3); lines where all
    have two. Without arrays."""
    dataset = vtkPolyData()
    dataset.SetPoints(_points(points))
    if len(sizes) and sizes.max() == 2:
        dataset.SetLines(_cells(sizes))
    else:
        dataset.SetPolys(_cells(sizes))
    return dataset


def segments(ends: np.ndarray) -> vtkPolyData:
    """One line per row of ends, float32 (n, 2, 3), without arrays."""
    dataset = vtkPolyData()
    dataset.SetPoints(_points(ends))
    dataset.SetLines(_cells(np.full(len(ends), 2)))
    return dataset


def attach(dataset: vtkPolyData, arrays: Mapping[str, np.ndarray]) -> vtkPolyData:
    """Adds cell arrays, (n_cells,) each, and returns the dataset."""
    for name, values in arrays.items():
        dataset.GetCellData().AddArray(vtk_array(values, name))
    return dataset


def attach_to_points(dataset: vtkPolyData, name: str, values: np.ndarray) -> None:
    """Adds a point array; values has one number per point, in any shape."""
    dataset.GetPointData().AddArray(vtk_array(np.ravel(values), name))


def attach_nodes(dataset: vtkPolyData, nodes: np.ndarray) -> vtkPolyData:
    """Adds the number of each point's node, `node_id`, and returns the dataset."""
    attach_to_points(dataset, NODE_ID, np.asarray(nodes, np.float32))
    return dataset


def attach_texts(dataset: vtkPolyData, name: str, texts: Iterable[str]) -> None:
    """Adds a cell array of texts, one per cell."""
    array = vtkStringArray()
    array.SetName(name)
    for text in texts:
        array.InsertNextValue(text)
    dataset.GetCellData().AddArray(array)


def attach_names(dataset: vtkPolyData, name: str, texts: Iterable[str]) -> None:
    """Adds texts to the field data; value n of the cell array that they explain means text n."""
    _attach(dataset, vtkStringArray(), name, texts)


def attach_numbers(dataset: vtkPolyData, name: str, values: Sequence[float]) -> None:
    """Adds numbers that describe the whole dataset to its field data."""
    _attach(dataset, vtkDoubleArray(), name, values)


def _attach(dataset: vtkPolyData, array: vtkAbstractArray, name: str, values: Iterable[str | float]) -> None:
    array.SetName(name)
    for value in values:
        array.InsertNextValue(value)
    dataset.GetFieldData().AddArray(array)


def _points(corners: np.ndarray) -> vtkPoints:
    points = vtkPoints()
    points.SetData(numpy_to_vtk(corners.reshape(-1, 3), deep=True))
    return points


def _cells(corners: np.ndarray, first: int = 0) -> vtkCellArray:
    """Cells of `corners` points each, (n_cells,); they number the points consecutively from `first`."""
    count = int(corners.sum())
    kind = np.int32 if count < 2**31 else np.int64
    cells = vtkCellArray()
    offsets = np.zeros(len(corners) + 1, kind)
    np.cumsum(corners, out=offsets[1:])
    numbers = np.arange(first, first + count, dtype=kind)
    # Copied: vtkCellArray shares the memory but does not keep the arrays alive.
    cells.SetData(numpy_to_vtk(offsets, deep=True), numpy_to_vtk(numbers, deep=True))
    return cells
