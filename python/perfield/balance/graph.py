# SPDX-License-Identifier: BSD-3-Clause
"""The dual graph of a mesh: which cells of all pieces share a side, also across pieces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataSet, vtkGenericCell, vtkUnstructuredGrid
from vtkmodules.vtkFiltersCore import vtkAppendFilter

from perfield.balance.measured import BalanceError
from perfield.pictures.blocks import is_owned

SAME_POINT = 1e-7  # of the mesh's diagonal: single precision is as exact
_SEED = 1  # the same graph always gives the same parts
CORNERS_OF_SIDE = {1: 1, 2: 2, 3: 3}  # by dimension of cells: corners that the two cells of a side share


def dual_graph(datasets: Sequence[vtkDataSet]) -> csr_array:
    """Which cells share a side, as a symmetric matrix over the cells of all datasets, one after the other.

    Two solid cells share a side if they share 3 corners, two flat ones 2, two lines 1. Points of different
    datasets are the same where they coincide. Ghost cells are left out.
    Raises BalanceError if the mesh has cells of different dimensions, such as solids and shells.
    """
    append = vtkAppendFilter()
    append.MergePointsOn()
    append.SetToleranceIsAbsolute(False)
    append.SetTolerance(SAME_POINT)
    for dataset in datasets:
        append.AddInputData(dataset)
    append.Update()
    grid = append.GetOutput()
    n_corners = CORNERS_OF_SIDE.get(_dimension(grid), 1)
    corners = vtk_to_numpy(grid.GetCells().GetConnectivityArray())
    begins = vtk_to_numpy(grid.GetCells().GetOffsetsArray())
    of_cell = csr_array(
        (np.ones(len(corners), np.int32), corners, begins),
        shape=(grid.GetNumberOfCells(), grid.GetNumberOfPoints()),
    )
    of_cell = of_cell[np.flatnonzero(np.concatenate([is_owned(dataset) for dataset in datasets]))]
    shared = (of_cell @ of_cell.T).tocoo()
    sides = (shared.data >= n_corners) & (shared.row != shared.col)
    ones = np.ones(int(sides.sum()), np.int8)
    graph = csr_array((ones, (shared.row[sides], shared.col[sides])), shape=shared.shape)
    graph.sort_indices()
    return graph


def divided(graph: csr_array, weights: np.ndarray, n_parts: int) -> np.ndarray:
    """The part of each cell, int64 (n_cells,), if KaHIP divides the mesh by weights with few sides cut.

    weights : int64 (n_cells,). Parts may be 3 % heavier than the mean.
    Raises ModuleNotFoundError without KaHIP.
    """
    import kahip

    ones, begins, ends = [1] * graph.nnz, graph.indptr.tolist(), graph.indices.tolist()
    _, part = kahip.kaffpa(weights.tolist(), begins, ones, ends, n_parts, 0.03, True, _SEED, kahip.FAST)
    return np.asarray(part, np.int64)


def _dimension(grid: vtkUnstructuredGrid) -> int:
    """The dimension of the cells."""
    cell, found = vtkGenericCell(), set()
    for kind in np.unique(vtk_to_numpy(grid.GetCellTypesArray())).tolist():
        cell.SetCellType(kind)
        found.add(cell.GetCellDimension())
    if len(found) > 1:
        raise BalanceError(
            f"the mesh has cells of dimensions {', '.join(map(str, sorted(found)))}; a graph of cells that "
            "share sides needs cells of one dimension."
        )
    return found.pop() if found else 0
