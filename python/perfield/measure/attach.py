# SPDX-License-Identifier: BSD-3-Clause
"""perfield.attach: adds this rank's measurements to a grid of the simulation's own Catalyst adaptor."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from perfield import _bridge
from perfield.measure import measuring, mesh_size, values

ASSOCIATIONS = ("points", "cells", "field")
FEW = 4096  # values; up to this length an array gets memory of its own


def attach(dataset: Any, association: str = "points", names: Collection[str] | None = None) -> list[str]:
    """Adds one array per value that this rank measured in the step. The arrays have a frame's names.

    dataset : a vtkDataSet or a composite dataset, plain or wrapped by vtkmodules.numpy_interface. All parts
    of a composite dataset get the arrays. association : "points", "cells", or "field" for one number in the
    field data of each part. names : the fields to add; None adds all of `perfield.values()`.
    The values are those of the open step, or of the last closed step if nothing was counted since.
    Returns the names of the arrays; the list is empty if perfield does not measure. A long array takes 1/64
    of its apparent memory, at least 64 kB; VTK and NumPy see an ordinary array of doubles.
    Raises ValueError for another association, TypeError if `dataset` is not a dataset.
    """
    if association not in ASSOCIATIONS:
        raise ValueError(f"association is {association!r}; expected one of {', '.join(ASSOCIATIONS)}")
    grids = _grids(getattr(dataset, "VTKObject", dataset))
    from vtkmodules.util.numpy_support import numpy_to_vtk

    if measuring():
        for grid in grids:
            mesh_size(*_size(grid), grid=int(grid.__this__.split("_")[1], 16))
    wanted = {name: value for name, value in values().items() if names is None or name in names}
    lengths = [_tuples(grid, association) for grid in grids]
    for name, value in wanted.items():
        most = max(lengths, default=0)
        numbers = np.full(most, value) if most <= FEW else np.frombuffer(_bridge.Constant(value, most))
        for grid, length in zip(grids, lengths):
            array = numpy_to_vtk(numbers[:length])  # keeps the numbers alive as long as VTK has the array
            array.SetName(name)
            _attributes(grid, association).AddArray(array)
    return list(wanted)


def _grids(dataset: Any) -> list[Any]:
    from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkDataSet

    if isinstance(dataset, vtkDataSet):
        return [dataset]
    if not isinstance(dataset, vtkCompositeDataSet):
        raise TypeError(f"found a {type(dataset).__name__}; expected a vtkDataSet or a composite of them")
    grids = []
    at = dataset.NewIterator()
    at.InitTraversal()
    while not at.IsDoneWithTraversal():
        if isinstance(at.GetCurrentDataObject(), vtkDataSet):
            grids.append(at.GetCurrentDataObject())
        at.GoToNextItem()
    return grids


def _size(grid: Any) -> tuple[int, int, int]:
    """The grid's own cells and points, and its ghost cells."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonDataModel import vtkDataSetAttributes

    def marked(ghosts: Any, kind: int) -> int:
        return 0 if ghosts is None else int(np.count_nonzero(vtk_to_numpy(ghosts) & kind))

    ghost_cells = marked(grid.GetCellGhostArray(), vtkDataSetAttributes.DUPLICATECELL)
    ghost_points = marked(grid.GetPointGhostArray(), vtkDataSetAttributes.DUPLICATEPOINT)
    return grid.GetNumberOfCells() - ghost_cells, grid.GetNumberOfPoints() - ghost_points, ghost_cells


def _attributes(grid: Any, association: str) -> Any:
    if association == "field":
        return grid.GetFieldData()
    return grid.GetPointData() if association == "points" else grid.GetCellData()


def _tuples(grid: Any, association: str) -> int:
    if association == "field":
        return 1
    return grid.GetNumberOfPoints() if association == "points" else grid.GetNumberOfCells()
