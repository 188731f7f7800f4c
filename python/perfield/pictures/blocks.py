# SPDX-License-Identifier: BSD-3-Clause
"""Turns the mesh blocks of a program into VTK datasets: image, rectilinear, structured or unstructured.

A block comes from `run.mesh(rank, version)`, the program's own fields from `run.fields(rank, index)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkPoints, vtkUnsignedCharArray
from vtkmodules.vtkCommonDataModel import (
    vtkCellArray,
    vtkDataSet,
    vtkDataSetAttributes,
    vtkImageData,
    vtkRectilinearGrid,
    vtkStructuredGrid,
    vtkUnstructuredGrid,
)

from perfield.pictures.free_memory import free_bytes
from perfield.pictures.vtk_arrays import vtk_array

if TYPE_CHECKING:
    from perfield.run import Block

GHOSTS = "vtkGhostType"
POLYHEDRON = 42
_LEAST_ARRAYS = 8  # of float64, which must fit for a block to be made at all


class MeshError(ValueError):
    """A mesh or one of its fields cannot be shown; the text says why and what to do."""


class MeshMissingError(MeshError):
    """The run has no mesh to show values on; the text says where perfield looked."""


class MeshUnknownError(MeshMissingError):
    """No rank described a mesh, and nobody named one."""


def dataset_of(block: Block) -> vtkDataSet:
    """Makes the VTK dataset of one block, with VTK's own marks for ghosts.

    block : `perfield.run.Block`; coordinates in the program's own unit.
    Raises MeshError if the lengths of its arrays do not match.
    """
    makers = {
        "image": _image,
        "rectilinear": _rectilinear,
        "structured": _structured,
        "unstructured": _unstructured,
    }
    if block.kind not in makers:
        raise MeshError(
            f"block {block.block} is of kind '{block.kind}'; expected one of {', '.join(makers)}. "
            "A newer perfield wrote it: open it with that version."
        )
    if block.extent is not None:  # nothing else bounds the points of an image
        sides = [max(0, high - low + 1) for low, high in zip(block.extent[::2], block.extent[1::2])]
        check_room(f"block {block.block}", prod(sides))
    dataset = makers[block.kind](block)
    for association, ghosts in block.ghosts.items():
        attach(dataset, GHOSTS, (np.asarray(ghosts).ravel() != 0).astype(np.uint8), association)
    return dataset


def check_room(block: str, n_values: int, n_arrays: int = _LEAST_ARRAYS) -> None:
    """Raises MeshError if arrays of float64 on a block do not fit into half of the memory that is free.

    block : for the sentence. n_values : points or cells of the block.
    """
    needed, free = 8 * n_values * n_arrays, free_bytes()
    if needed > free // 2:
        raise MeshError(
            f"{block} has {n_values:,} points, on which {n_arrays} arrays take {needed / 1e9:,.1f} GB; "
            f"{free / 1e9:,.1f} GB of memory are free. Name fewer fields, or read the run where "
            "there is more memory."
        )


def attach(dataset: vtkDataSet, name: str, values: np.ndarray, association: str) -> None:
    """Adds one array to a dataset.

    values : (n_tuples,) or (n_tuples, n_components); copied. association : "point" or "cell".
    Raises MeshError if the dataset has another number of points or cells.
    """
    on_points = association == "point"
    expected = dataset.GetNumberOfPoints() if on_points else dataset.GetNumberOfCells()
    if len(values) != expected:
        raise MeshError(
            f"field '{name}' has {len(values)} values, but the block has {expected} {association}s; "
            "check the sizes passed to perfield_field or perfield_mesh_ghosts."
        )
    (dataset.GetPointData() if on_points else dataset.GetCellData()).AddArray(vtk_array(values, name))


def shallow(dataset: vtkDataSet) -> vtkDataSet:
    """A new dataset that shares the points, cells and arrays of another."""
    copy = dataset.NewInstance()
    copy.ShallowCopy(dataset)
    return copy


def is_owned(dataset: vtkDataSet) -> np.ndarray:
    """Which of the dataset's cells are no ghosts, bool (n_cells,)."""
    ghosts = dataset.GetCellData().GetArray(GHOSTS)
    if ghosts is None:
        return np.ones(dataset.GetNumberOfCells(), dtype=bool)
    return (vtk_to_numpy(ghosts) & vtkDataSetAttributes.DUPLICATECELL) == 0


def owned_cells(dataset: vtkDataSet) -> int:
    """Number of the dataset's cells without ghosts."""
    return int(np.count_nonzero(is_owned(dataset)))


def centre_and_size(datasets: Iterable[vtkDataSet]) -> tuple[np.ndarray, float] | None:
    """Centre (3,) and diagonal length of the box around some datasets; None if all are empty."""
    boxes = np.array([d.GetBounds() for d in datasets if d.GetNumberOfPoints()]).reshape(-1, 3, 2)
    if not len(boxes):
        return None
    low, high = boxes[:, :, 0].min(axis=0), boxes[:, :, 1].max(axis=0)
    return (low + high) / 2, float(np.linalg.norm(high - low))


def _extent(block: Block) -> list[int]:
    return [int(number) for number in block.extent]


def _image(block: Block) -> vtkImageData:
    image = vtkImageData()
    image.SetExtent(_extent(block))
    image.SetOrigin(block.origin)
    image.SetSpacing(block.spacing)
    return image


def _rectilinear(block: Block) -> vtkRectilinearGrid:
    grid = vtkRectilinearGrid()
    grid.SetExtent(_extent(block))
    for axis, letter in enumerate("xyz"):
        values = np.asarray(getattr(block, letter), dtype=np.float64).ravel()
        expected = block.extent[2 * axis + 1] - block.extent[2 * axis] + 1
        if len(values) != expected:
            raise MeshError(
                f"block {block.block} has {len(values)} {letter} coordinates, but its extent "
                f"{_extent(block)} needs {expected}; check the sizes passed to perfield_mesh_rectilinear."
            )
        getattr(grid, f"Set{letter.upper()}Coordinates")(numpy_to_vtk(values, deep=True))
    return grid


def _points(block: Block) -> vtkPoints:
    points = vtkPoints()
    values = np.asarray(block.points)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    points.SetData(numpy_to_vtk(np.ascontiguousarray(values.reshape(-1, 3)), deep=True))
    return points


def _structured(block: Block) -> vtkStructuredGrid:
    grid = vtkStructuredGrid()
    grid.SetExtent(_extent(block))
    points = _points(block)
    low, high = np.array(_extent(block)).reshape(3, 2).T
    expected = int(np.prod(high - low + 1))
    if points.GetNumberOfPoints() != expected:
        raise MeshError(
            f"block {block.block} has {points.GetNumberOfPoints()} points, but its extent {_extent(block)} "
            f"needs {expected}; check the sizes passed to perfield_mesh_structured."
        )
    grid.SetPoints(points)
    return grid


def _unstructured(block: Block) -> vtkUnstructuredGrid:
    grid = vtkUnstructuredGrid()
    if block.points is None or not len(block.points):
        return grid  # an empty piece
    grid.SetPoints(_points(block))
    connectivity = np.asarray(block.connectivity, dtype=np.int64).ravel()
    offsets = np.asarray(block.offsets, dtype=np.int64).ravel()
    types = np.asarray(block.types, dtype=np.uint8).ravel()
    n_cells, n_points = len(offsets) - 1, grid.GetNumberOfPoints()
    if len(types) == 1:
        types = np.full(max(n_cells, 0), types[0], dtype=np.uint8)
    if len(offsets) and (offsets[0] != 0 or offsets[-1] != len(connectivity) or (np.diff(offsets) < 0).any()):
        raise MeshError(
            f"block {block.block} has offsets from {offsets[0]} to {offsets[-1]} over {len(connectivity)} "
            "entries of connectivity; expected offsets that start at 0, never fall and end at that length."
        )
    if len(connectivity) and not (connectivity.min() >= 0 and connectivity.max() < n_points):
        raise MeshError(
            f"block {block.block} connects points {connectivity.min()} to {connectivity.max()}, but has "
            f"points 0 to {n_points - 1}; check first_number in perfield_mesh_unstructured."
        )
    if (types == POLYHEDRON).any():
        raise MeshError(
            f"block {block.block} has general polyhedra (cell type 42); the mesh interface cannot carry "
            "their faces. Write the pieces as .pvtu and name that file in mesh_path."
        )
    if n_cells > 0:
        cells = vtkCellArray()
        cells.SetData(numpy_to_vtk(offsets, deep=True), numpy_to_vtk(connectivity, deep=True))
        cell_types: vtkUnsignedCharArray = numpy_to_vtk(types, deep=True)
        grid.SetCells(cell_types, cells)
    return grid
