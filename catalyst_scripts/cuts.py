# SPDX-License-Identifier: BSD-3-Clause
"""Cuts a mesh open with a plane, so that a field of the simulation shows inside.

The plane is perpendicular to the axis along which the field varies least: what differs lies in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mesh_values import pieces_of
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkPlane, vtkPolyData
from vtkmodules.vtkFiltersCore import vtkCellCenters, vtkCutter, vtkPointDataToCellData
from vtkmodules.vtkFiltersParallel import vtkRemoveGhosts

FLAT = 0.15  # of the longest side; a mesh that is not higher is looked at from above
SLABS = 16  # along each axis, of which the means are compared
ALIKE = 0.1  # shares of the variance that differ by less decide nothing
ASIDE = 1e-6  # of the mesh's length: a plane does not lie in faces between cells


@dataclass(frozen=True)
class Plane:
    """A plane perpendicular to an axis (0 to 2). at : its place along the axis."""

    axis: int
    at: float

    @property
    def words(self) -> str:
        """For titles."""
        return f"cut at {'xyz'[self.axis]} = {self.at:.3g}"

    @property
    def origin(self) -> list[float]:
        """A point of the plane."""
        return [self.at if axis == self.axis else 0.0 for axis in range(3)]

    @property
    def normal(self) -> list[float]:
        """Its direction."""
        return [float(axis == self.axis) for axis in range(3)]

    def within(self, bounds: Sequence[float]) -> tuple[float, ...]:
        """What the plane leaves of a box, x0 to z1."""
        return tuple(self.at if n // 2 == self.axis else end for n, end in enumerate(bounds))


def is_flat(bounds: Sequence[float]) -> bool:
    """Whether a mesh is looked at from above."""
    lengths = [bounds[1] - bounds[0], bounds[3] - bounds[2], bounds[5] - bounds[4]]
    return lengths[2] <= FLAT * max(lengths)


def has_inside(data: Any, bounds: Sequence[float]) -> bool:
    """Whether the geometry picture has cells with a volume, and not all of them are seen from above."""
    solid = [
        piece
        for *_, piece in pieces_of(data)
        if piece.GetNumberOfCells() and piece.GetCell(0).GetCellDimension() == 3
    ]
    if not solid or not is_flat(bounds):
        return bool(solid)
    heights = np.concatenate([vtk_to_numpy(_middles(piece).GetPoints().GetData())[:, 2] for piece in solid])
    return bool(np.ptp(heights) > ASIDE * (bounds[5] - bounds[4]))


def plane_at(axis: int, ends: Sequence[float], bounds: Sequence[float]) -> Plane:
    """The plane in the middle of two ends along an axis, of a mesh with these bounds."""
    low, high = bounds[2 * axis : 2 * axis + 2]
    return Plane(axis, (ends[0] + ends[1]) / 2 + ASIDE * (high - low))


def axis_of_least_change(data: Any, field: str, bounds: Sequence[float]) -> int:
    """The axis along which a field of the geometry picture varies least; of those alike, the shortest one of
    the mesh, then y, x, z."""
    places, values = _values(data, field)
    lengths = np.subtract(bounds[1::2], bounds[::2])
    shares = [_share(places[:, axis], values, *bounds[2 * axis : 2 * axis + 2]) for axis in range(3)]
    alike = [axis for axis in (1, 0, 2) if shares[axis] <= min(shares) + ALIKE]
    return min(alike, key=lambda axis: round(lengths[axis] / max(lengths.max(), 1e-300), 2))


def _share(places: np.ndarray, values: np.ndarray, low: float, high: float) -> float:
    """The share of the variance of values that the means of slabs along an axis have."""
    if not len(values) or not values.var() or high <= low:
        return 0.0
    slab = np.clip(((places - low) / (high - low) * SLABS).astype(int), 0, SLABS - 1)
    n_values = np.bincount(slab, minlength=SLABS)
    sums = np.bincount(slab, values - values.mean(), SLABS)
    return float((sums**2 / np.maximum(n_values, 1)).sum() / len(values) / values.var())


def _values(data: Any, field: str) -> tuple[np.ndarray, np.ndarray]:
    """Middles (n, 3) of cells, and the finite values (n,) of a field with one component there."""
    places, values = [np.zeros((0, 3))], [np.zeros(0)]
    for *_, piece in pieces_of(data):
        middles = _middles(piece, field)
        array = middles.GetPointData().GetArray(field)
        if array is not None and array.GetNumberOfComponents() == 1 and array.GetNumberOfTuples():
            places.append(vtk_to_numpy(middles.GetPoints().GetData()))
            values.append(vtk_to_numpy(array).astype(float))
    known = np.isfinite(column := np.concatenate(values))
    return np.concatenate(places)[known], column[known]


def _middles(piece: Any, field: str = "") -> vtkPolyData:
    """The middles of cells as points, with a field of points or cells."""
    of_cells, centres = vtkPointDataToCellData(), vtkCellCenters()
    of_cells.ProcessAllArraysOff()
    of_cells.AddPointDataArray(field)
    of_cells.SetInputData(piece)
    centres.SetInputConnection(of_cells.GetOutputPort())
    centres.Update()
    return centres.GetOutput()


def cut_of(piece: Any, plane: Plane) -> vtkPolyData:
    """What a plane shows of a dataset, without ghosts."""
    shape, cutter = vtkPlane(), vtkCutter()
    shape.SetOrigin(plane.origin)
    shape.SetNormal(plane.normal)
    cutter.SetCutFunction(shape)
    cutter.SetInputData(piece)
    owned = vtkRemoveGhosts()
    owned.SetInputConnection(cutter.GetOutputPort())
    owned.Update()
    return owned.GetOutput()
