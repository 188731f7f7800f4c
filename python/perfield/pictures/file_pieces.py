# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of all ranks in files: of a parallel VTK file, of a .pvd file that lists such, or of Exodus."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from vtkmodules.vtkCommonDataModel import vtkDataSet

from perfield.pictures.blocks import MeshMissingError, shallow
from perfield.pictures.mesh_files import (
    PARALLEL,
    SPREAD,
    MeshFile,
    files_by_time,
    newest_time,
    newest_until,
    piece_files,
    pieces_of,
    pieces_of_exodus,
    time_if_other,
)

if TYPE_CHECKING:
    from perfield.run import Frame

_MOST_PIECES = 1 << 22  # of all times


class FilePieces:
    """Piece n belongs to rank n: of a parallel VTK file (.pvtu, ...), of the files that a .pvd file lists for
    one time, or of Exodus (mesh.e.4.0, mesh.e.4.1, ...).

    Raises MeshMissingError, with what to do, if a piece is missing, or they are not one for each rank.
    """

    def __init__(self, path: Path, n_ranks: int):
        self.origin, self.place = str(path), path
        self._files = pieces_by_time(path)
        for files in self._files.values():
            if len(files) != n_ranks:
                raise MeshMissingError(
                    f"{path} lists {len(files)} pieces, but the run has {n_ranks} ranks; expected one "
                    "piece per rank, in rank order. Write the mesh with as many pieces as the program has "
                    "ranks, or name an array that holds the rank of each cell with --rank-array."
                )
        self._check_all()
        spread = SPREAD.fullmatch(path.name)
        self.name = f"{spread[1]}.{spread[2]}.*" if spread else path.name
        self.way = f"mesh from {self.name}, a piece per rank"
        self._read: dict[int, tuple[Path, float | None, list[vtkDataSet]]] = {}  # of each rank, the last
        self._opened: dict[int, MeshFile] = {}

    def blocks(self, rank: int, frame: Frame | None) -> list[tuple[int, vtkDataSet]]:
        """The blocks of this rank's piece, from the newest time at or before the frame's."""
        file, time = self._piece(rank, frame)
        if self._read.get(rank, ())[:2] != (file, time):
            self._read[rank] = file, time, self._open(rank, file).datasets(time)
        return [(number, shallow(dataset)) for number, dataset in enumerate(self._read[rank][2])]

    def check(self) -> None:
        """Reads all pieces of the last time, which are kept. Raises MeshMissingError if one is damaged."""
        for rank in range(len(next(iter(self._files.values())))):
            self.blocks(rank, None)

    def _check_all(self) -> None:
        """Raises MeshMissingError if a piece of any time is missing. Lists each folder once: a file system of
        a cluster answers slowly."""
        folders: dict[Path, set[str]] = {}
        for file in self.files:
            folder = file.parent
            if folder not in folders:
                folders[folder] = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
            if file.name not in folders[folder]:
                raise MeshMissingError(
                    f"piece {file} is missing; copy it to the place that {self.origin} names."
                )

    @property
    def files(self) -> list[Path]:
        """The pieces of all times."""
        return [file for files in self._files.values() for file in files]

    @property
    def dimension(self) -> int:
        """The highest dimension of cells in the last pieces; 0 without cells."""
        last = range(len(next(iter(self._files.values()))))
        cells = (dataset.GetCell(0) for rank in last for _, dataset in self.blocks(rank, None))
        return max((cell.GetCellDimension() for cell in itertools.islice(cells, 1)), default=0)

    def mesh_times(self, times: Iterable[float], begin_s: Iterable[float]) -> list[float]:
        """For each time of a frame, the time of the files that it shows; equal where these are the same."""
        known = sorted(time for time in self._files if time is not None) or self._open(0, self.files[0]).times
        return [newest_until(known, float(time)) for time in times]

    def older_times(self, frame: Frame) -> tuple[float | None, float | None]:
        """None, and the time of the fields that the frame shows where that is not the frame's own."""
        of_set = self._time_of_set(frame)
        return None, time_if_other(self._piece(0, frame)[1] if of_set is None else of_set, frame)

    def _time_of_set(self, frame: Frame | None) -> float | None:
        times = [time for time in self._files if time is not None]
        return newest_time(sorted(times), frame) if times else None

    def _piece(self, rank: int, frame: Frame | None) -> tuple[Path, float | None]:
        """The file of a rank's piece, and the time to read in it."""
        file = self._files[self._time_of_set(frame)][rank]
        times = self._open(rank, file).times
        return file, newest_time(times, frame) if times else None

    def _open(self, rank: int, path: Path) -> MeshFile:
        if rank not in self._opened or self._opened[rank].path != path:
            self._opened[rank] = MeshFile(path)
        return self._opened[rank]


def is_of_pieces(path: Path, n_ranks: int) -> bool:
    """Whether the file lists pieces that must be those of ranks; a .pvd file does if their number fits."""
    if path.suffix.lower() != ".pvd":
        return path.suffix.lower() in PARALLEL or SPREAD.fullmatch(path.name) is not None
    try:
        return {len(files) for files in pieces_by_time(path).values()} == {n_ranks}
    except MeshMissingError:
        return False


def pieces_by_time(path: Path) -> dict[float | None, list[Path]]:
    """The files of the pieces, in their order, for each time in `path`; None if it has none.

    Raises MeshMissingError if they cannot be listed.
    """
    try:
        if SPREAD.fullmatch(path.name):
            return {None: _spread(path)}
        if path.suffix.lower() == ".pvd":
            return _by_time(path)
        return {None: piece_files(path)}
    except (OSError, ValueError, ElementTree.ParseError) as error:
        raise MeshMissingError(
            f"{path} cannot be read as a parallel VTK file ({error}); expected a .pvtu, .pvtp, .pvti, "
            ".pvtr or .pvts that lists one piece per rank. Give its path with --mesh or mesh_path."
        ) from error


def _by_time(path: Path) -> dict[float | None, list[Path]]:
    known: dict[Path, list[Path]] = {}
    found: dict[float | None, list[Path]] = {}
    listed = 0
    for time, files in files_by_time(path).items():
        for file in files:
            if file not in known:
                known[file] = pieces_of(file)
            listed += len(known[file])
            if listed > _MOST_PIECES:
                raise ValueError(f"over its times it lists more than {_MOST_PIECES:,} pieces")
            found.setdefault(time, []).extend(known[file])
    return found


def _spread(path: Path) -> list[Path]:
    """All pieces of Exodus of the file that this piece is of, in their order."""
    whole, count, _ = SPREAD.fullmatch(path.name).groups()
    found = pieces_of_exodus(path)
    missing = next((number for number in range(int(count)) if number not in found), None)
    if missing is not None:
        raise MeshMissingError(
            f"{path.parent / whole}.{count}.* has {len(found)} of {int(count)} pieces; number {missing} is "
            "missing. Copy all of them into one folder."
        )
    return [found[number] for number in range(int(count))]
