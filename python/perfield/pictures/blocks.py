# SPDX-License-Identifier: BSD-3-Clause
"""Turns the mesh blocks of a program into VTK datasets: image, rectilinear, structured or unstructured.

A block comes from `run.mesh(rank, version)`, the program's own fields from `run.fields(rank, index)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import VTK_UNSIGNED_CHAR, vtkIdList, vtkPoints, vtkUnsignedCharArray
from vtkmodules.vtkCommonDataModel import (
    vtkCellArray,
    vtkDataSet,
    vtkDataSetAttributes,
    vtkImageData,
    vtkRectilinearGrid,
    vtkStructuredGrid,
    vtkUnstructuredGrid,
)
from vtkmodules.vtkFiltersCore import vtkExtractCells

from perfield import _bridge
from perfield.catalyst_scripts.pictures_json import MOST as MOST_NUMBER
from perfield.pictures.free_memory import free_bytes
from perfield.pictures.vtk_arrays import vtk_array
from perfield.run.mesh import NEEDED
from perfield.text import in_bytes

if TYPE_CHECKING:
    from perfield.run import Block

GHOSTS = "vtkGhostType"
POLYHEDRON = 42
MOST = 1 << 31
_LEAST_ARRAYS = 8  # of float64, which must fit for a block to be made at all
SMALL_BYTES = 1 << 20  # that any machine has, so that nobody asks it for each of many small blocks


class MeshError(ValueError):
    """A mesh or one of its fields cannot be shown; the text says why and what to do."""


class MeshMissingError(MeshError):
    """The run has no mesh to show values on; the text says where perfield looked."""


class MeshUnknownError(MeshMissingError):
    """No rank described a mesh, and nobody named one."""


def dataset_of(block: Block) -> vtkDataSet:
    """Makes the VTK dataset of one block, with VTK's own ghost arrays.

    block : `perfield.run.Block`; coordinates in the program's own unit.
    Raises MeshError if its arrays do not fit together. VTK checks nothing: it reads and draws beyond the end
    of arrays that are too short.
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
    is_empty = block.kind == "unstructured" and (block.points is None or not len(block.points))
    needed = () if is_empty else NEEDED[block.kind]
    missing = [name for name in needed if getattr(block, name) is None]
    if missing:
        raise MeshError(f"block {block.block} lacks its {' and '.join(missing)}; the run is damaged.")
    try:
        dataset = makers[block.kind](block)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, MeshError):
            raise
        raise MeshError(f"block {block.block} holds no mesh of kind '{block.kind}': {error}.") from error
    for association, ghosts in block.ghosts.items():
        attach(dataset, GHOSTS, (np.asarray(ghosts).ravel() != 0).astype(np.uint8), association)
    return dataset


def check_room(block: str, n_values: int, n_arrays: int = _LEAST_ARRAYS) -> None:
    """Raises MeshError if arrays of float64 on a block do not fit into half of the memory that is free.

    block : for the sentence. n_values : points or cells of the block.
    """
    needed = 8 * n_values * n_arrays
    if needed > SMALL_BYTES and needed > (free := free_bytes()) // 2:
        raise MeshError(
            f"{block} has {n_values:,} points, on which {n_arrays} arrays take {in_bytes(needed)}; "
            f"{in_bytes(free)} of memory are free. Name fewer fields, or read the run where "
            "there is more memory."
        )


def check_reach(block: str, dataset: vtkDataSet) -> None:
    """Raises MeshError if no picture has room for the points, which is so for NaN if there is no other.

    block : as above.
    """
    box = dataset.GetBounds()
    low, high, is_known = min(box), max(box), box[0] <= box[1]
    if not (low > -MOST_NUMBER and high < MOST_NUMBER and is_known):
        raise MeshError(
            f"{block} {f'reaches from {low:g} to {high:g}' if is_known else 'has no finite point'}; expected "
            f"coordinates between -{MOST_NUMBER:g} and {MOST_NUMBER:g}. Check the points, or the origin and "
            "spacing, that the program or the file has."
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


def cells_of(dataset: vtkDataSet, cells: np.ndarray) -> vtkUnstructuredGrid:
    """Some cells of a dataset, by their numbers, with their points and arrays."""
    ids = vtkIdList()
    ids.SetNumberOfIds(len(cells))
    for place, cell in enumerate(cells.tolist()):
        ids.SetId(place, cell)
    extract = vtkExtractCells()
    extract.SetInputData(dataset)
    extract.SetCellList(ids)
    extract.Update()
    grid = shallow(extract.GetOutput())
    for data in (grid.GetCellData(), grid.GetPointData()):
        data.RemoveArray("vtkOriginalCellIds")
        data.RemoveArray("vtkOriginalPointIds")
    grid.GetFieldData().Initialize()
    return grid


def is_owned(dataset: vtkDataSet) -> np.ndarray:
    """Which of the dataset's cells are no ghosts, bool (n_cells,)."""
    ghosts = dataset.GetCellData().GetArray(GHOSTS)
    if ghosts is None or ghosts.GetDataType() != VTK_UNSIGNED_CHAR:  # else VTK shows all, too
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
    extent = [int(number) for number in block.extent]
    lengths = _lengths(extent)
    is_right = len(extent) == 6 and min(lengths) > 0 and min(extent) >= -MOST and max(extent) < MOST
    if not is_right:
        raise MeshError(
            f"block {block.block} has the extent {extent}; expected six numbers of 32 bits, the first and "
            "last of each axis."
        )
    check_room(f"block {block.block}", math.prod(lengths))  # nothing else bounds the points of an image
    return extent


def _lengths(extent: list[int]) -> list[int]:
    """How many points an extent has along each axis."""
    return [last - first + 1 for first, last in zip(extent[::2], extent[1::2])]


def _three(block: Block, name: str) -> tuple[float, float, float]:
    values = tuple(float(number) for number in getattr(block, name))
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise MeshError(f"block {block.block} has the {name} {values}; expected three finite numbers.")
    return values


def _whole(block: Block, name: str) -> np.ndarray:
    values = np.asarray(getattr(block, name)).ravel()
    if values.dtype.kind not in "iu":
        raise MeshError(f"block {block.block} has {name} of type {values.dtype}; expected whole numbers.")
    return values.astype(np.int64, copy=False)


def _image(block: Block) -> vtkImageData:
    image = vtkImageData()
    image.SetExtent(_extent(block))
    image.SetOrigin(_three(block, "origin"))
    image.SetSpacing(_three(block, "spacing"))
    return image


def _rectilinear(block: Block) -> vtkRectilinearGrid:
    grid, extent = vtkRectilinearGrid(), _extent(block)
    grid.SetExtent(extent)
    for letter, expected in zip("xyz", _lengths(extent)):
        values = np.asarray(getattr(block, letter), dtype=np.float64).ravel()
        if len(values) != expected:
            raise MeshError(
                f"block {block.block} has {len(values)} {letter} coordinates, but its extent "
                f"{extent} needs {expected}; check the sizes passed to perfield_mesh_rectilinear."
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
    grid, extent = vtkStructuredGrid(), _extent(block)
    grid.SetExtent(extent)
    points = _points(block)
    expected = math.prod(_lengths(extent))
    if points.GetNumberOfPoints() != expected:
        raise MeshError(
            f"block {block.block} has {points.GetNumberOfPoints()} points, but its extent {extent} "
            f"needs {expected}; check the sizes passed to perfield_mesh_structured."
        )
    grid.SetPoints(points)
    return grid


def _unstructured(block: Block) -> vtkUnstructuredGrid:
    grid = vtkUnstructuredGrid()
    if block.points is None or not len(block.points):
        return grid  # an empty piece
    grid.SetPoints(_points(block))
    connectivity, offsets, types = (_whole(block, name) for name in ("connectivity", "offsets", "types"))
    n_cells, n_points = max(len(offsets) - 1, 0), grid.GetNumberOfPoints()
    if len(types) == 1:
        types = np.full(n_cells, types[0])
    if len(types) != n_cells:
        raise MeshError(
            f"block {block.block} has {len(types)} cell types for {n_cells} cells; expected one each, or one "
            "for all."
        )
    rises = not len(offsets) or (
        offsets[0] == 0 and offsets[-1] == len(connectivity) and (offsets[1:] >= offsets[:-1]).all()
    )
    if not rises:
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
    kinds = np.unique(np.stack([types, np.diff(offsets)]), axis=1).T.tolist() if n_cells else ()
    if wrong := next(filter(None, (_bridge.wrong_cell(*kind) for kind in kinds)), ""):
        raise MeshError(
            f"block {block.block}: {wrong}; check the arrays passed to perfield_mesh_unstructured."
        )
    if n_cells > 0:
        cells = vtkCellArray()
        cells.SetData(numpy_to_vtk(offsets, deep=True), numpy_to_vtk(connectivity, deep=True))
        cell_types: vtkUnsignedCharArray = numpy_to_vtk(types.astype(np.uint8), deep=True)
        grid.SetCells(cell_types, cells)
    return grid
