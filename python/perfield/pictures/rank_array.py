# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of one global mesh file, by an array in it that says which rank owns each cell or point."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataSet, vtkUnstructuredGrid
from vtkmodules.vtkFiltersCore import vtkAppendFilter

from perfield.pictures.blocks import MeshMissingError, cells_of, shallow
from perfield.pictures.mesh_files import MeshFile, newest_time, newest_until, time_if_other
from perfield.text import first_of, in_list

if TYPE_CHECKING:
    from perfield.run import Frame

# Names under which programs write ranks, in small letters and without other signs.
COMMON_NAMES = (
    *("mpirankid", "mpirank", "rank", "rankid", "procid", "processid", "processor", "processorid"),
    *("vtkprocessid", "partition", "partitionid", "partitionnumber", "part", "subdomain", "subdomainid"),
    *("gmshpartition", "proc", "pid"),
)
FROM_ONE = ("gmshpartition",)  # these count from 1
LISTED = 20  # arrays that a sentence names
NOBODY = -1  # in place of a rank
MOST = 2.0**31  # larger numbers are no ranks


class RankArrayPieces:
    """The cells of a global mesh file, each at the rank that an array names.

    array : its name; None takes the one with a common name. A cell without a rank of its own belongs to the
    rank of most of its points, among equals to the lowest. Numbers that are all of 1 to `n_ranks` count from
    1. way, notes : for titles, and for the user. is_exact : whether the numbers are those of all ranks and no
    others. Raises MeshMissingError, with what to do, if the file cannot be read, lacks the array, or names
    ranks that the run does not have.
    """

    def __init__(self, path: Path, n_ranks: int, array: str | None = None):
        self.origin, self.name, self.place = str(path), path.name, path
        self.notes: list[str] = []
        self._n_ranks, self._file = n_ranks, MeshFile(path)
        self._time: float | None = None
        self._blocks: list[tuple[vtkDataSet, np.ndarray]] = []
        self._without: set[str] = set()  # why cells belong to no rank
        self._of_rank: dict[int, list[tuple[int, vtkUnstructuredGrid]]] = {}
        datasets = self._file.datasets(self._newest(None))
        self._array = array or _common_array(path, datasets)
        self.way = f"mesh from {path.name}, ranks by {self._array}"
        self._split(datasets, self._newest(None))
        self._warn_of_missing()

    def blocks(self, rank: int, frame: Frame | None) -> list[tuple[int, vtkDataSet]]:
        """The cells of this rank in each block of the file, from the newest time at or before the frame's."""
        time = self._newest(frame)
        if time != self._time:
            self._split(self._file.datasets(time), time)
        if rank not in self._of_rank:
            self._of_rank[rank] = [
                (number, cells_of(dataset, np.flatnonzero(ranks == rank)))
                for number, (dataset, ranks) in enumerate(self._blocks)
                if (ranks == rank).any()
            ]
        return [(number, shallow(dataset)) for number, dataset in self._of_rank[rank]]

    def mesh_times(self, times: Iterable[float], begin_s: Iterable[float]) -> list[float]:
        """For each time of a frame, the time in the file that it shows; equal where that is the same."""
        return [newest_until(self._file.times, float(time)) for time in times]

    def older_times(self, frame: Frame) -> tuple[float | None, float | None]:
        """None, and the time of the fields that the frame shows where that is not the frame's own."""
        return None, time_if_other(self._newest(frame), frame)

    def _newest(self, frame: Frame | None) -> float | None:
        return newest_time(self._file.times, frame) if self._file.times else None

    def _split(self, datasets: list[vtkDataSet], time: float | None) -> None:
        self._without = set()
        ranks = [(dataset, self._ranks(dataset)) for dataset in datasets]
        known = [(dataset, of_cells) for dataset, of_cells in ranks if of_cells is not None]
        if not known:
            raise MeshMissingError(
                f"{self.origin} has no array '{self._array}'; it has {_listed(datasets)}. Name the one that "
                "holds the rank of each cell or point with --rank-array."
            )
        present = np.unique(np.concatenate([of_cells for _, of_cells in known]))
        if present[-1] < 0:
            raise MeshMissingError(
                f"array '{self._array}' of {self.origin} is {self._why_nobody()} for all cells, so it names "
                "no rank. Name another array with --rank-array."
            )
        first = self._first_number(present)
        self._check(present, first)
        self._blocks = [(dataset, np.maximum(of_cells - first, NOBODY)) for dataset, of_cells in known]
        self._time, self._of_rank = time, {}

    def _first_number(self, present: np.ndarray) -> int:
        """The number that means rank 0: 1 where all numbers fit then and only then, else 0."""
        is_all = present[0] == 1 and present[-1] == self._n_ranks == len(present)
        return int(is_all or _plain(self._array) in FROM_ONE)

    def _ranks(self, dataset: vtkDataSet) -> np.ndarray | None:
        """The rank of each cell, int64; None if the block does not have the array."""
        array = dataset.GetCellData().GetArray(self._array)
        if array is not None:
            return self._whole(vtk_to_numpy(array))
        array = dataset.GetPointData().GetArray(self._array)
        return None if array is None else _of_most_points(dataset, self._whole(vtk_to_numpy(array)))

    def _whole(self, values: np.ndarray) -> np.ndarray:
        """Ranks as int64: NOBODY where a number is NaN or negative."""
        known = np.where(np.isnan(values), NOBODY, values) if values.ndim == 1 else np.zeros(1)
        known = np.where(np.abs(known) < MOST, known, 0.5)  # which is not a rank, as infinity is none
        if values.ndim != 1 or (np.abs(np.rint(known) - known) > 1e-3).any():
            raise MeshMissingError(
                f"array '{self._array}' of {self.origin} does not hold ranks: expected one whole number for "
                "each cell or point. Name another array with --rank-array."
            )
        self._without |= {"NaN"} if np.isnan(values).any() else set()
        self._without |= {"negative"} if (values < 0).any() else set()
        return np.maximum(np.rint(known).astype(np.int64), NOBODY)

    def _check(self, present: np.ndarray, first: int) -> None:
        if present[-1] >= self._n_ranks + first:
            lowest = present[present >= 0][0]
            raise MeshMissingError(
                f"array '{self._array}' of {self.origin} names ranks {lowest} to {present[-1]}, but the "
                f"run has {self._n_ranks} ranks, {first} to {self._n_ranks - 1 + first}: the file is of "
                "another run, or counts otherwise. Name the file that this run wrote."
            )
        self._present = present - first

    @property
    def is_exact(self) -> bool:
        """Whether each rank has a cell, and all cells belong to ranks."""
        return self._present.tolist() == list(range(self._n_ranks))

    @property
    def dimension(self) -> int:
        """The highest dimension of cells."""
        return max(dataset.GetCell(0).GetCellDimension() for dataset, _ in self._blocks)

    def _warn_of_missing(self) -> None:
        missing = sorted(set(range(self._n_ranks)) - set(self._present.tolist()))
        if missing:
            some = first_of(missing)
            self.notes.append(
                f"array '{self._array}' of {self.origin} gives no cell to {len(missing)} of {self._n_ranks} "
                f"ranks ({some}), so these have no piece."
            )
        if self._present[0] < 0:
            self.notes.append(
                f"cells whose '{self._array}' is {self._why_nobody()} in {self.origin} belong to no rank and "
                "are not shown."
            )

    def _why_nobody(self) -> str:
        return " or ".join(sorted(self._without)) or "missing"


def _common_array(path: Path, datasets: list[vtkDataSet]) -> str:
    names = _names(datasets)
    plain = {_plain(name): name for name in reversed(names)}
    for name in COMMON_NAMES:
        if name in plain:
            return plain[name]
    raise MeshMissingError(
        f"{path} has no array with a common name of ranks, as mpi_rank_id or partition; it has "
        f"{_listed(datasets)}. Name the one that holds the rank of each cell or point with --rank-array."
    )


def _plain(name: str) -> str:
    """A name in small letters, without other signs."""
    return re.sub(r"[^a-z]", "", name.lower())


def _names(datasets: list[vtkDataSet]) -> list[str]:
    found = {}
    for dataset in datasets:
        for data in (dataset.GetCellData(), dataset.GetPointData()):
            for number in range(data.GetNumberOfArrays()):
                if data.GetArray(number) is not None:
                    found[data.GetArrayName(number)] = None
    return list(found)


def _listed(datasets: list[vtkDataSet]) -> str:
    names = sorted(_names(datasets))
    if not names:
        return "no arrays at all"
    return in_list(names, LISTED)


def _of_most_points(dataset: vtkDataSet, of_points: np.ndarray) -> np.ndarray:
    """The rank of most points of each cell, among equals the lowest, int64 (n_cells,)."""
    append = vtkAppendFilter()  # makes any dataset unstructured
    append.AddInputData(dataset)
    append.Update()
    cells = append.GetOutput().GetCells()
    points = vtk_to_numpy(cells.GetConnectivityArray())
    n_points = np.diff(vtk_to_numpy(cells.GetOffsetsArray()))
    base = int(of_points.max(initial=0)) + 2
    pairs = np.repeat(np.arange(len(n_points)), n_points) * base + of_points[points] + 1
    pairs, counts = np.unique(pairs, return_counts=True)
    cell, rank = pairs // base, pairs % base - 1
    order = np.lexsort((rank, -counts, cell))
    found = np.full(len(n_points), -1, dtype=np.int64)
    with_points, first = np.unique(cell[order], return_index=True)
    found[with_points] = rank[order][first]
    return found
