# SPDX-License-Identifier: BSD-3-Clause
"""Reads the pieces of an OpenFOAM case, processor0, processor1, ..., one by one with VTK's reader.

Directory processorN holds the mesh of rank N. VTK's reader expects a whole case, so it sees each piece
through a small temporary directory of links. perfield never writes to the case itself.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkDataSet, vtkUnstructuredGrid
from vtkmodules.vtkIOGeometry import vtkOpenFOAMReader

from perfield.pictures.blocks import MeshMissingError

if TYPE_CHECKING:
    from perfield.run import Frame


def is_openfoam_case(path: Path) -> bool:
    """Whether a directory holds a decomposed OpenFOAM case, collated or not."""
    return (path / "processor0").is_dir() or bool(_collated(path))


class OpenFoamPieces:
    """Meshes and fields of processorN/, from the newest time written at or before the frame's time."""

    def __init__(self, case: Path, n_ranks: int):
        self.origin = f"{case}/processor*"
        if not (case / "processor0").is_dir() and _collated(case):
            raise MeshMissingError(
                f"{case} holds collated pieces ({_collated(case)[0].name}), which perfield cannot read; "
                "expected processor0, processor1, ... Run decomposePar and the solver with -fileHandler "
                "uncollated."
            )
        found = [rank for rank in range(n_ranks) if (case / f"processor{rank}" / "constant").is_dir()]
        if len(found) != n_ranks or (case / f"processor{n_ranks}").is_dir():
            pieces = len([path for path in case.glob("processor*") if path.name[9:].isdigit()])
            raise MeshMissingError(
                f"{case} holds {pieces} pieces, but the run has {n_ranks} ranks; expected processor0 to "
                f"processor{n_ranks - 1}, each with constant/polyMesh. Decompose the case for {n_ranks} "
                "ranks, or name the right case with --mesh."
            )
        self._case = case.resolve()
        self._links = Path(tempfile.mkdtemp(prefix="perfield-openfoam-"))
        weakref.finalize(self, shutil.rmtree, self._links, True)
        self._readers: dict[int, vtkOpenFOAMReader] = {}
        self._read: dict[tuple[int, float], vtkUnstructuredGrid] = {}

    def blocks(self, rank: int, frame: Frame) -> list[tuple[int, vtkDataSet]]:
        """The internal mesh of this rank's processor directory."""
        reader = self._reader(rank)
        time = _written_time(reader, float(frame.time))
        if (rank, time) not in self._read:
            self._read = {key: grid for key, grid in self._read.items() if key[0] != rank}
            self._read[rank, time] = _internal_mesh(reader, time)
        copy = vtkUnstructuredGrid()
        copy.ShallowCopy(self._read[rank, time])
        return [(0, copy)]

    def _reader(self, rank: int) -> vtkOpenFOAMReader:
        if rank not in self._readers:
            seen = self._links / f"rank{rank}"
            seen.mkdir()
            for entry in (self._case / f"processor{rank}").iterdir():
                (seen / entry.name).symlink_to(entry)
            if not (seen / "system").exists():
                (seen / "system").symlink_to(self._case / "system")
            reader = vtkOpenFOAMReader()
            reader.SetFileName(str(seen / "piece.foam"))
            reader.SetCreateCellToPoint(False)
            reader.SetDecomposePolyhedra(False)
            reader.UpdateInformation()
            reader.EnableAllCellArrays()
            reader.DisableAllPatchArrays()
            reader.SetPatchArrayStatus("internalMesh", 1)
            self._readers[rank] = reader
        return self._readers[rank]


def _collated(path: Path) -> list[Path]:
    return sorted(entry for entry in path.glob("processors*") if entry.name[10:11].isdigit())


def _written_time(reader: vtkOpenFOAMReader, time: float) -> float:
    """The newest time written at or before `time`; the first if there is none, the last if `time` is NaN."""
    values = reader.GetTimeValues()
    times = np.array([values.GetValue(n) for n in range(values.GetNumberOfTuples())] if values else [])
    if not len(times):
        return 0.0
    if np.isnan(time):
        return float(times[-1])
    before = times[times <= time + 1e-9 * max(1.0, abs(time))]
    return float(before[-1]) if len(before) else float(times[0])


def _internal_mesh(reader: vtkOpenFOAMReader, time: float) -> vtkUnstructuredGrid:
    reader.UpdateTimeStep(time)
    iterator = reader.GetOutput().NewIterator()
    iterator.InitTraversal()
    grid = vtkUnstructuredGrid()
    if not iterator.IsDoneWithTraversal():
        grid.ShallowCopy(iterator.GetCurrentDataObject())
        grid.GetFieldData().Initialize()
    return grid
