# SPDX-License-Identifier: BSD-3-Clause
"""Finds a run's mesh: stored in the run, or on disk.

Every source answers one question: which blocks does this rank own in this frame, and which of the
simulation's own fields are on them? This module has meshes that a program described to perfield;
`file_pieces`, `listed_boxes`, `openfoam_pieces` and `rank_array` have those on disk.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from vtkmodules.vtkCommonDataModel import vtkDataSet

from perfield.configuration import OF_GRID, setting
from perfield.pictures.amrex_boxes import amrex_boxes, is_plotfile
from perfield.pictures.blocks import (
    MeshError,
    MeshMissingError,
    MeshUnknownError,
    attach,
    dataset_of,
    shallow,
)
from perfield.pictures.boxes import boxes_of_stated_grid
from perfield.pictures.file_pieces import FilePieces, is_of_pieces
from perfield.pictures.listed_boxes import ListedBoxes, table_of
from perfield.pictures.mesh_files import FORMATS, begin_of
from perfield.pictures.openfoam_pieces import OpenFoamPieces, is_openfoam_case
from perfield.pictures.rank_array import RankArrayPieces

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame


class Pieces(Protocol):
    """A source of meshes."""

    origin: str  # the place of the meshes, for messages: "the run", "case/processor*", "mesh.pvtu"
    way: str  # how the mesh was found, for titles: "mesh from results.case, ranks by mpi_rank_id"

    def blocks(self, rank: int, frame: Frame) -> list[tuple[int, vtkDataSet]]:
        """Block numbers and datasets of a rank in a frame, with own fields; empty if it has no mesh."""


class StoredPieces:
    """Meshes that the program described through perfield.h. Those of the last frame are kept."""

    origin = "the run"
    way = "mesh as the program described it"

    def __init__(self, run: AnyRun):
        self._run = run
        self._converted: dict[int, tuple[int, list[tuple[int, vtkDataSet]]]] = {}  # rank -> version, blocks
        # rank -> version, step, blocks with own fields
        self._of_frame: dict[int, tuple[int, int, list[tuple[int, vtkDataSet]]]] = {}
        self.left_out: dict[str, str] = {}  # field that does not fit its block -> reason

    def blocks(self, rank: int, frame: Frame) -> list[tuple[int, vtkDataSet]]:
        """Blocks of this rank's mesh in this frame, with the newest fields stored until then."""
        version = int(frame.mesh_version[rank])
        if not version:
            return []
        if self._of_frame.get(rank, (None, None))[:2] != (version, frame.index):
            self._of_frame[rank] = version, frame.index, self._with_fields(rank, version, frame.index)
        return [(number, shallow(dataset)) for number, dataset in self._of_frame[rank][2]]

    def _with_fields(self, rank: int, version: int, index: int) -> list[tuple[int, vtkDataSet]]:
        fresh = [(number, shallow(dataset)) for number, dataset in self.shapes(rank, version)]
        if not fresh:
            return []
        fields = self._run.fields(rank, index)
        for number, dataset in fresh:
            for (block, name), field in fields.items():
                if block != number:
                    continue
                try:
                    attach(dataset, name, field.values, field.association)
                except MeshError as error:
                    self.left_out.setdefault(name, f"rank {rank}, block {block}: {error}")
        return fresh

    def shapes(self, rank: int, version: int) -> list[tuple[int, vtkDataSet]]:
        """Blocks of a version of this rank's mesh, without fields; not to be changed. Version 0 has none."""
        if version == 0:
            return []
        if rank not in self._converted or self._converted[rank][0] != version:
            blocks = self._run.mesh(rank, version)
            self._converted[rank] = version, [(block.block, dataset_of(block)) for block in blocks]
        return self._converted[rank][1]

    def fields_index(self, frame: Frame) -> int | None:
        """Index of the step in which a frame's newest own fields were stored; None without fields."""
        fields = (
            self._run.fields(rank, frame.index).values()
            for rank in range(self._run.n_ranks)
            if frame.mesh_version[rank]
        )
        first = next((list(of_rank) for of_rank in fields if of_rank), [])
        return max((array.index for array in first), default=None)


def mesh_at(pieces: Pieces, frame: Frame) -> object:
    """What frames with the same mesh have in common."""
    times = getattr(pieces, "mesh_times", None)
    return times([frame.time], [begin_of(frame)])[0] if times else frame.mesh_version.tobytes()


@dataclass(frozen=True)
class SomePieces:
    """The pieces of some ranks; all other ranks have none."""

    pieces: Pieces
    ranks: Collection[int]

    @property
    def origin(self) -> str:
        """Where the meshes come from."""
        return self.pieces.origin

    @property
    def way(self) -> str:
        """How the meshes were found."""
        return self.pieces.way

    def blocks(self, rank: int, frame: Frame) -> list[tuple[int, vtkDataSet]]:
        """The rank's blocks if it is one of `ranks`, else none."""
        return self.pieces.blocks(rank, frame) if rank in self.ranks else []


def choose_pieces(
    run: AnyRun, mesh: str | Path | None = None, rank_array: str | None = None, named: bool = True
) -> Pieces:
    """Finds the source of a run's meshes.

    Takes the first of: `mesh` (a file, an OpenFOAM case, or OF_GRID and a grid), `mesh_path`, meshes
    stored in the run, the OpenFOAM case that the program was given by -case or that it started in.
    rank_array : the array of a mesh file that holds the rank of each cell or point; None takes pieces of a
    parallel VTK file for those of the ranks, and in other files an array with a common name. named : False
    passes over `mesh_path`.
    Raises MeshMissingError, with what to do, if there is none.
    """
    configured = setting(run, "mesh_path") if named else ""
    stated = str(configured if mesh is None else mesh)
    if stated.startswith(OF_GRID):
        return boxes_of_stated_grid(run, stated.removeprefix(OF_GRID))
    if mesh is not None or configured:
        path = Path(mesh) if mesh is not None else started_in(run) / configured
        return _on_disk(path, run, rank_array)
    if rank_array:
        raise MeshMissingError(
            f"--rank-array {rank_array} is an array of a mesh file; name the file with --mesh PATH."
        )
    if len(run) and any((run.mesh_versions(at) > 0).any() for at in {0, len(run) - 1}):
        return StoredPieces(run)
    case = (started_in(run) / openfoam_case(run)).resolve()
    if is_openfoam_case(case):
        return OpenFoamPieces(case, run.n_ranks)
    raise MeshUnknownError(
        f"no rank of {run.path} described a mesh, and no pieces are on disk beside it. Describe the "
        "mesh with perfield_mesh_* (perfield.h), or name a mesh file or an OpenFOAM case: by `perfield "
        "render --mesh PATH`, or as mesh_path in perfield.toml. The picture of the machine needs no mesh "
        "(`perfield render --topology`)."
    )


def started_in(run: AnyRun) -> Path:
    """The directory in which the program started."""
    return (Path(run.path).resolve() / run.info.get("working_directory", ".")).resolve()


def openfoam_case(run: AnyRun) -> str:
    """The case of an OpenFOAM program, relative to its working directory: what follows -case, else "."."""
    entry = next((entry for entry in run.rank_entries if entry), {})
    for words in (run.info.get("command", []), entry.get("arguments", "").split()):
        for option, value in zip(words, words[1:]):
            if option == "-case":
                return value
    return "."


def _on_disk(path: Path, run: AnyRun, rank_array: str | None) -> Pieces:
    if not path.exists():
        raise MeshMissingError(
            f"mesh {path} does not exist; give a mesh file ({', '.join(sorted(FORMATS))}), an AMReX "
            "plotfile, or a directory that holds processor0, processor1, ..."
        )
    if is_plotfile(path):
        return ListedBoxes(path, run.n_ranks, partial(amrex_boxes, n_ranks=run.n_ranks))
    if path.is_dir() or path.suffix == ".foam":
        return OpenFoamPieces(path if path.is_dir() else path.parent, run.n_ranks)
    if not path.is_file():
        raise MeshMissingError(f"mesh {path} is not a regular file, so it is not read; name a mesh file.")
    return pieces_of_file(path, run.n_ranks, rank_array)


def pieces_of_file(path: Path, n_ranks: int, rank_array: str | None = None) -> Pieces:
    """The pieces that a file lists, else those that an array in it says. Raises MeshMissingError."""
    if path.suffix == ".csv":
        return ListedBoxes(path, n_ranks, table_of)
    if not rank_array and is_of_pieces(path, n_ranks):
        pieces = FilePieces(path, n_ranks)
        pieces.check()
        return pieces
    return RankArrayPieces(path, n_ranks, rank_array)
