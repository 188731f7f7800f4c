# SPDX-License-Identifier: BSD-3-Clause
"""Reads the pieces of a decomposed OpenFOAM case, one by one, with VTK's reader.

Rank N owns directory processorN, or block N of every file in processors<ranks> (collated). VTK's reader
expects a whole case with plain files. So it sees each piece through a small temporary directory: of links, or
of the rank's blocks of collated files, which are copied when they are needed. perfield never writes to the
case itself.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vtkmodules.vtkCommonDataModel import vtkDataSet, vtkUnstructuredGrid
from vtkmodules.vtkIOGeometry import vtkOpenFOAMReader

from perfield.catalyst_scripts.safe_open import safe_open, safe_read
from perfield.pictures.blocks import MeshMissingError, shallow
from perfield.pictures.mesh_files import newest_time, newest_until

if TYPE_CHECKING:
    from perfield.run import Frame

MESH_FILES = ("boundary", "faces", "neighbour", "owner", "points")


def is_openfoam_case(path: Path) -> bool:
    """Whether a directory holds a decomposed OpenFOAM case, collated or not."""
    return (path / "processor0").is_dir() or bool(_collated(path))


class OpenFoamPieces:
    """Meshes and fields from the newest time written at or before the frame's time; a block per region."""

    def __init__(self, case: Path, n_ranks: int):
        self._case = self.place = case.resolve()
        self._sources = sources(case, n_ranks)
        pieces = "processor*" if isinstance(self._sources[0], _Plain) else "processors*"
        self.origin, self.way = f"{case}/{pieces}", f"mesh from {self._case.name}/{pieces}"
        self._seen = Path(tempfile.mkdtemp(prefix="perfield-openfoam-"))
        weakref.finalize(self, shutil.rmtree, self._seen, True)
        self._readers: dict[int, tuple[dict[float, str], vtkOpenFOAMReader]] = {}
        self._read: dict[tuple[int, float], list[tuple[int, vtkUnstructuredGrid]]] = {}

    def written_time(self, frame: Frame) -> float:
        """The time whose mesh and fields the frame shows: the newest one written at or before its own.

        The first written time if all are later; 0 if none was written.
        """
        return newest_time(sorted(written_times(self._sources[0].directory)), frame)

    def mesh_times(self, times: Iterable[float], begin_s: Iterable[float]) -> list[float]:
        """For each time of a frame, the time of the mesh that it shows; equal where the mesh is the same."""
        if not self._changes():
            return [0.0 for _ in times]
        written = sorted(written_times(self._sources[0].directory))
        return [newest_until(written, float(time)) for time in times]

    def older_times(self, frame: Frame) -> tuple[float | None, float | None]:
        """The times of the mesh and of the fields that the frame shows, where they are older than the frame.

        A mesh that was never written again is not old.
        """
        written = self.written_time(frame)
        is_older = written < float(frame.time) - 1e-9 * max(1.0, abs(float(frame.time)))
        times = written_times(self._sources[0].directory)
        is_older &= bool(times)
        return (written if is_older and self._changes() else None), (written if is_older else None)

    def blocks(self, rank: int, frame: Frame) -> list[tuple[int, vtkDataSet]]:
        """The internal mesh of each region in this rank's piece. Regions without cells here are left out.

        Raises MeshMissingError if the piece is on disk but cannot be read, or is not the one that was
        measured.
        """
        times = written_times(self._sources[rank].directory)
        time = newest_time(sorted(times), frame)
        if (rank, time) not in self._read:
            self._read = {key: grids for key, grids in self._read.items() if key[0] != rank}
            self._read[rank, time] = self._load(rank, times, time)
            self._check(rank, frame, self._read[rank, time])
        return [(number, shallow(grid)) for number, grid in self._read[rank, time]]

    def _check(self, rank: int, frame: Frame, grids: list[tuple[int, vtkUnstructuredGrid]]) -> None:
        """Raises MeshMissingError if a mesh that stays has more cells than the rank had.

        It may have fewer: meshes that function objects make count among the cells, and are not on disk.
        """
        cells = frame.values.get("cells")
        there = sum(grid.GetNumberOfCells() for _, grid in grids)
        if cells is not None and there > cells[rank] and not self._changes():
            raise MeshMissingError(
                f"{self._sources[rank].directory} has {there:,} cells, but rank {rank} had "
                f"{cells[rank]:,.0f} when it was measured: the case was divided again, or is another one. "
                "Name the case as it was with --mesh, or measure again."
            )

    def _changes(self) -> bool:
        """Whether a mesh was written after the start."""
        first = self._sources[0].directory
        return any(
            (first / time / "polyMesh").is_dir() or any((first / time).glob("*/polyMesh"))
            for time in written_times(first).values()
        )

    def _load(self, rank: int, times: dict[float, str], time: float) -> list[tuple[int, vtkUnstructuredGrid]]:
        seen = self._seen / f"rank{rank}"
        is_new = rank not in self._readers or self._readers[rank][0] != times
        if is_new:
            shutil.rmtree(seen, ignore_errors=True)
            self._sources[rank].show(seen)
            if not (seen / "system").exists():
                (seen / "system").symlink_to(self._case / "system")
        self._sources[rank].fill(seen, times, time)
        if is_new:
            self._readers[rank] = times, _reader(seen)
        reader = self._readers[rank][1]
        errors: list[str] = []
        executive = reader.GetExecutive()
        watch = executive.AddObserver("ErrorEvent", lambda *_: errors.append("failed"))
        reader.UpdateTimeStep(time)
        executive.RemoveObserver(watch)
        grids = _grids(reader)
        if not grids and errors:
            raise MeshMissingError(
                f"the piece of rank {rank} in {self._sources[rank].directory} cannot be read at time "
                f"{time:g}; VTK names the file above. Expected are files as OpenFOAM writes them (ascii or "
                "binary). Copy the case again, or write it anew by foamFormatConvert."
            )
        self._sources[rank].empty(seen, times.get(time))
        return grids


# --- where a piece lies -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plain:
    """A piece in a directory of its own."""

    directory: Path

    def read(self, file: str) -> bytes:
        """A file of the piece, by its path in the directory."""
        return safe_read(self.directory / file, most=None)

    def show(self, seen: Path) -> None:
        """Makes the directory that VTK's reader sees."""
        seen.mkdir()
        for entry in self.directory.iterdir():
            (seen / entry.name).symlink_to(entry)

    def fill(self, seen: Path, times: dict[float, str], time: float) -> None:
        """Puts there what the reader needs for one time."""

    def empty(self, seen: Path, time: str | None) -> None:
        """Removes the fields of that time."""


@dataclass(frozen=True)
class _Collated:
    """A piece that is block `block` of every file in a directory."""

    directory: Path
    block: int

    def read(self, file: str) -> bytes:
        """The rank's part of a file, by its path in the directory."""
        return collated_block(self.directory / file, self.block)

    def show(self, seen: Path) -> None:
        """Makes the directory that VTK's reader sees, with empty files."""
        for folder, _, files in os.walk(self.directory):
            copy = seen / Path(folder).relative_to(self.directory)
            copy.mkdir(parents=True)
            for name in files:
                (copy / name).touch()
                if name == "boundary":  # the reader looks at these of all times at once
                    self._copy(copy / name, seen)

    def fill(self, seen: Path, times: dict[float, str], time: float) -> None:
        """Copies the rank's blocks of this time's fields, and of the mesh that holds at this time."""
        until = ["constant", *(name for value, name in sorted(times.items()) if value <= time)]
        for mesh in {
            path.parent.relative_to(seen / path.relative_to(seen).parts[0])
            for name in until
            for path in (seen / name).rglob("polyMesh/*")
        }:
            for name in MESH_FILES:
                written = [
                    seen / when / mesh / name for when in until if (seen / when / mesh / name).is_file()
                ]
                if written:
                    self._copy(written[-1], seen)
        if time in times:
            for file in (seen / times[time]).rglob("*"):
                if file.is_file() and "uniform" not in file.parts and file.parent.name != "polyMesh":
                    self._copy(file, seen)

    def empty(self, seen: Path, time: str | None) -> None:
        """Removes the fields of that time; the mesh may hold for later times."""
        for file in (seen / time).rglob("*") if time else ():
            if file.is_file() and file.parent.name != "polyMesh":
                os.truncate(file, 0)

    def _copy(self, file: Path, seen: Path) -> None:
        if not file.stat().st_size:
            file.write_bytes(collated_block(self.directory / file.relative_to(seen), self.block))


def collated_block(file: Path, block: int) -> bytes:
    """One rank's part of a collated file, as OpenFOAM writes it without collating.

    Raises MeshMissingError if the file is not collated or has no such block.
    """
    with safe_open(file, most=None) as stream:
        blocks: list[bytes] = []
        for number in range(block + 1):
            line = b"-"
            while line and not re.match(rb"\d+\s*$", line):
                line = stream.readline()
            if not line or stream.read(1) != b"(":
                raise MeshMissingError(
                    f"{file} has {number} blocks, but block {block} was expected: it is damaged, compressed, "
                    "or not collated. Write the case again, or run with -fileHandler uncollated."
                )
            if number in (0, block):
                blocks.append(stream.read(int(line)))
            else:
                stream.seek(int(line), os.SEEK_CUR)
            stream.readline()
    if block == 0:
        return blocks[0]
    header = blocks[0][: blocks[0].index(b"}") + 1]  # the first block's holds for all
    return header + b"\n" + blocks[-1]


def _collated(case: Path) -> list[Path]:
    return sorted(
        entry for entry in case.glob("processors*") if re.match(r"\d+(_\d+-\d+)?$", entry.name[10:])
    )


def sources(case: Path, n_ranks: int) -> list[_Plain | _Collated]:
    """Where the piece of each rank lies: its `directory`, and `read`, which gives a file of it.

    Of plain and collated pieces, the newer ones count. Raises MeshMissingError if a rank has none.
    """
    plain = [path for path in case.glob("processor*") if path.name[9:].isdigit()]
    plain.sort(key=lambda path: int(path.name[9:]))
    collated = _collated(case)
    newest = max([*plain, *collated], key=lambda path: path.stat().st_mtime, default=None)
    if newest in collated:
        pieces: dict[int, _Plain | _Collated] = {}
        for directory in collated:
            n_pieces, first, last = re.match(r"(\d+)(?:_(\d+)-(\d+))?", directory.name[10:]).groups()
            if int(n_pieces) == n_ranks:
                start = int(first or 0)
                for rank in range(start, int(last or n_ranks - 1) + 1):
                    pieces[rank] = _Collated(directory, rank - start)
        if sorted(pieces) == list(range(n_ranks)):
            return [pieces[rank] for rank in range(n_ranks)]
        raise MeshMissingError(
            f"{case} holds the collated pieces {', '.join(path.name for path in collated)}, but the run has "
            f"{n_ranks} ranks; expected processors{n_ranks}. Decompose the case for {n_ranks} ranks, or "
            "name the right case with --mesh."
        )
    whole = [path for path in plain if (path / "constant").is_dir()]
    if [path.name for path in whole] != [f"processor{rank}" for rank in range(n_ranks)]:
        raise MeshMissingError(
            f"{case} holds {len(plain)} pieces, but the run has {n_ranks} ranks; expected processor0 to "
            f"processor{n_ranks - 1}, each with constant/polyMesh. Decompose the case for {n_ranks} "
            "ranks, or name the right case with --mesh."
        )
    return [_Plain(path.resolve()) for path in whole]


# --- times --------------------------------------------------------------------------------------


def written_times(directory: Path) -> dict[float, str]:
    """Written times -> their directories."""
    times = {}
    for entry in os.scandir(directory):
        if re.match(r"[\d.]+(e[-+]?\d+)?$", entry.name) and entry.is_dir():
            times[float(entry.name)] = entry.name
    return times


# --- VTK's reader -------------------------------------------------------------------------------


def _reader(seen: Path) -> vtkOpenFOAMReader:
    reader = vtkOpenFOAMReader()
    reader.SetFileName(str(seen / "piece.foam"))
    reader.SetCreateCellToPoint(False)
    if hasattr(reader, "SetDecomposePolyhedra"):  # newer VTKs never do
        reader.SetDecomposePolyhedra(False)
    reader.UpdateInformation()
    reader.EnableAllCellArrays()
    reader.DisableAllPatchArrays()
    for number in range(reader.GetNumberOfPatchArrays()):
        name = reader.GetPatchArrayName(number)  # "internalMesh", or "heater/internalMesh" in a region
        if name.split("/")[-1] == "internalMesh":
            reader.SetPatchArrayStatus(name, 1)
    return reader


def _grids(reader: vtkOpenFOAMReader) -> list[tuple[int, vtkUnstructuredGrid]]:
    grids = []
    iterator = reader.GetOutput().NewIterator()
    iterator.InitTraversal()
    number = 0
    while not iterator.IsDoneWithTraversal():
        dataset = iterator.GetCurrentDataObject()
        if isinstance(dataset, vtkUnstructuredGrid):
            if dataset.GetNumberOfCells():
                grid = shallow(dataset)
                grid.GetFieldData().Initialize()
                grids.append((number, grid))
            number += 1
        iterator.GoToNextItem()
    return grids
