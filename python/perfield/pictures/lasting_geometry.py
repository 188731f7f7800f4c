# SPDX-License-Identifier: BSD-3-Clause
"""The geometry picture of one frame after another, as fast as a running program needs it.

`geometry_blocks` makes new datasets for each frame. Here, a piece keeps its dataset and arrays as long as its
mesh stays, and only values that changed are written. Arrays that always had equal values share their memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataSet

from perfield.pictures.blocks import owned_cells
from perfield.pictures.geometry_picture import GeometryOptions, PieceValues, block_name, region_names
from perfield.pictures.own_fields import name_own_fields, own_fields
from perfield.pictures.pieces import StoredPieces
from perfield.pictures.vtk_arrays import memory, vtk_array

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame
    from perfield.run.mesh import FieldArray

SMALL = 10_000  # points; more than one array of the same value is no matter
Fields = dict[tuple[int, str], "FieldArray"]


class LastingGeometry:
    """The pieces of a run's stored meshes. Datasets are valid until the next call of `blocks`.

    pieces : made anew when a mesh changes within its version. options : as for `geometry`, without pieces.
    """

    def __init__(self, run: AnyRun, pieces: StoredPieces, options: GeometryOptions):
        self._run, self._pieces, self._options = run, pieces, options
        self._kept: dict[int, tuple[Any, list[_Block], Fields]] = {}

    def blocks(self, frame: Frame) -> list[tuple[str, vtkDataSet]]:
        """What `geometry_blocks` yields for this frame."""
        values = PieceValues(self._run, frame, self._options)
        regions = region_names(self._run, frame)
        described = tuple(array.GetValue(n) for array in regions for n in range(array.GetNumberOfValues()))
        found = []
        for rank in np.flatnonzero(frame.mesh_version).tolist():
            fields = self._run.fields(rank, frame.index)
            state = int(frame.mesh_version[rank]), tuple(values.names), described
            known, blocks, before = self._kept.get(rank, (None, [], None))
            is_same = fields is before or all([block.update(fields) for block in blocks])
            if known != state or not is_same:
                made = self._pieces.blocks(rank, frame)
                blocks = [_Block(n, data, values.names, regions, self._options) for n, data in made]
            self._kept[rank] = state, blocks, fields
            cells_of_rank = sum(block.n_cells for block in blocks)
            for block in blocks:
                if block.n_points:
                    block.fill(values.of(rank, block.number, block.n_cells, cells_of_rank))
                    found.append((block_name(rank, block.number, len(blocks)), block.dataset))
        for rank in [rank for rank in self._kept if not frame.mesh_version[rank]]:
            del self._kept[rank]
        return found


class _Block:
    """A block of a rank's mesh with its arrays."""

    def __init__(
        self, number: int, dataset: vtkDataSet, names: list[str], regions: list, options: GeometryOptions
    ):
        self.number, self.dataset = number, dataset
        self.n_points, self.n_cells = dataset.GetNumberOfPoints(), owned_cells(dataset)
        on_points = options.association == "point"
        self._size = self.n_points if on_points else dataset.GetNumberOfCells()
        self._data = dataset.GetPointData() if on_points else dataset.GetCellData()
        if not self.n_points:
            return
        name_own_fields(dataset, names)
        called = own_fields(dataset)
        self._own = {
            called[new]: (array, vtk_to_numpy(array).dtype)
            for new, array in _arrays(dataset)
            if new in called
        }
        for array in regions:
            dataset.GetFieldData().AddArray(array)
        self._names = names
        self._arrays: list[Any] = []
        self._leader = np.zeros(0, np.int64)  # the array that has the memory of each
        self._values = np.zeros(0)

    def update(self, fields: Fields) -> bool:
        """Takes in the simulation's own fields; returns False if they are others than before."""
        if not self.n_points:
            return True
        mine = {name: field for (block, name), field in fields.items() if block == self.number}
        if mine.keys() != self._own.keys():
            return False
        for name, field in mine.items():
            (array, dtype), values = self._own[name], field.values
            if (array.GetNumberOfValues(), dtype) != (values.size, values.dtype):
                return False
            memory(array, dtype)[:] = values.reshape(-1)
            array.Modified()
        return True

    def fill(self, values: np.ndarray) -> None:
        """Writes perfield's values, (n_names,)."""
        bits = values.view(np.int64)  # as bits, NaN equals itself
        differ = bits[self._leader] != bits if self._arrays else None
        if differ is None or (self._size > SMALL and differ.any()):
            self._make(values, bits)
        elif differ.any():
            for name in np.flatnonzero(differ).tolist():  # has memory of its own from now on
                self._leader[name] = name
                self._arrays[name] = vtk_array(np.full(self._size, values[name]), self._names[name])
                self._data.AddArray(self._arrays[name])
        changed = np.flatnonzero(bits != self._values.view(np.int64))
        for name in changed.tolist():
            if self._leader[name] == name:
                memory(self._arrays[name], np.dtype(float))[:] = values[name]
            self._arrays[name].Modified()
        self._values = values.copy()
        self.dataset.Modified()

    def _make(self, values: np.ndarray, bits: np.ndarray) -> None:
        """Makes all arrays; those of equal values share their memory."""
        _, first, place = np.unique(bits, return_index=True, return_inverse=True)
        self._leader = first[place.ravel()]
        self._arrays = [None] * len(values)
        for name in np.unique(self._leader).tolist():
            self._arrays[name] = vtk_array(np.full(self._size, values[name]), self._names[name])
        for name, leader in enumerate(self._leader.tolist()):
            if leader != name:
                self._arrays[name] = shared = self._arrays[leader].NewInstance()
                shared.ShallowCopy(self._arrays[leader])
                shared.SetName(self._names[name])
            self._data.AddArray(self._arrays[name])
        self._values = values.copy()


def _arrays(dataset: vtkDataSet) -> list[tuple[str, Any]]:
    """(name, array) of all point and cell arrays."""
    parts = dataset.GetPointData(), dataset.GetCellData()
    return [
        (part.GetArrayName(n), part.GetArray(n)) for part in parts for n in range(part.GetNumberOfArrays())
    ]
