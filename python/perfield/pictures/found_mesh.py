# SPDX-License-Identifier: BSD-3-Clause
"""Finds a mesh that the program itself wrote while it was measured, where nobody named one.

Only what is certain counts: a file that was written during the run, in the directory in which the program
started or in one of its folders, with a piece for each rank, or with an array of a common name that holds the
numbers of all ranks and no others; or AMReX plotfiles with a file for each rank. A wrong picture is worse
than boxes.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Union

from perfield.pictures.amrex_boxes import is_plotfile
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.file_pieces import FilePieces, is_of_pieces
from perfield.pictures.mesh_files import FORMATS, SPREAD
from perfield.pictures.plotfiles import Plotfiles, numbered_plotfiles, written_ns
from perfield.pictures.rank_array import RankArrayPieces

if TYPE_CHECKING:
    from perfield.run import AnyRun

FoundPieces = Union[FilePieces, RankArrayPieces, Plotfiles]
LOOKED_AT = 10_000  # entries of a folder
TRIED = 12  # files that are opened, the newest of each name


def found_mesh(run: AnyRun, started_in: Path) -> tuple[FoundPieces | None, list[str]]:
    """The mesh, and the names of files of the run that do not say which rank owns what.

    Of several meshes, one of volumes comes before one of surfaces, that before boxes of plotfiles, a .pvd
    file before the files that it lists, and then the newest counts.
    """
    written = run.realtime_ns
    if written is None:
        return None, []
    best: tuple[tuple[int, bool, int], FoundPieces] | None = None
    useless = []
    series = {paths[-1]: paths for paths in _plotfiles_between(started_in, *written)}
    changed = [(written_ns(path), path) for path in series]
    for changed_ns, path in [*_written_between(started_in, *written)[:TRIED], *changed]:
        try:
            if path in series:
                pieces: FoundPieces | None = Plotfiles(series[path], run.n_ranks, written[0])
            else:
                pieces = _certain(path, run.n_ranks, written[0])
        except (MeshMissingError, OSError):
            pieces = None
        folder = path.parent.relative_to(started_in)
        if pieces is None:
            useless.append(str(folder / path.name))
            continue
        pieces.way = pieces.way.replace(pieces.name, f"{folder / pieces.name}, written during the run", 1)
        order = pieces.dimension, path.suffix == ".pvd", changed_ns
        if best is None or order > best[0]:
            best = order, pieces
    return (best[1] if best else None), useless


def _certain(path: Path, n_ranks: int, begin_ns: int) -> FoundPieces | None:
    """The pieces, if it is certain whose they are."""
    if is_of_pieces(path, n_ranks):
        pieces = FilePieces(path, n_ranks)
        return pieces if min(file.stat().st_mtime_ns for file in pieces.files) >= begin_ns else None
    if path.suffix.lower() == ".pvd":
        return None  # the files that it lists are looked at themselves
    by_array = RankArrayPieces(path, n_ranks)
    return by_array if by_array.is_exact else None


def _written_between(folder: Path, begin_ns: int, end_ns: int) -> list[tuple[int, Path]]:
    """Mesh files of a folder and of the folders in it, with the times of their last change, newest first.

    Of names that differ in numbers only, as those of steps and of pieces, the newest.
    """
    newest: dict[str, tuple[int, Path]] = {}
    for entry in itertools.chain(_entries(folder), *(_entries(Path(one)) for one in _folders(folder))):
        path = Path(entry.path)
        if path.suffix.lower() not in FORMATS and not SPREAD.fullmatch(path.name):
            continue
        try:
            changed = entry.stat().st_mtime_ns
        except OSError:
            continue
        if begin_ns <= changed <= end_ns:
            series = re.sub(r"\d+", "#", entry.path)
            newest[series] = max(newest.get(series, (0, path)), (changed, path))
    return sorted(newest.values(), reverse=True)


def _plotfiles_between(folder: Path, begin_ns: int, end_ns: int) -> list[list[Path]]:
    """Plotfiles in a folder and in the folders in it, the oldest of each series first."""
    inside = list(map(Path, _folders(folder)))
    deeper = (Path(one) for two in inside if not is_plotfile(two) for one in _folders(two))
    series: dict[str, list[tuple[int, Path]]] = {}
    for path in numbered_plotfiles(itertools.chain(inside, deeper)):
        changed = written_ns(path)
        if begin_ns <= changed <= end_ns:
            series.setdefault(re.sub(r"\d+$", "", str(path)), []).append((changed, path))
    return [[path for _, path in sorted(paths)] for paths in series.values()]


def _entries(folder: Path) -> Iterator[os.DirEntry]:
    try:
        with os.scandir(folder) as entries:
            yield from (one for one in itertools.islice(entries, LOOKED_AT) if one.is_file())
    except OSError:
        return


def _folders(folder: Path) -> list[str]:
    """Folders that may hold results: not run directories, hidden ones or links."""
    try:
        with os.scandir(folder) as entries:
            some = [one for one in itertools.islice(entries, LOOKED_AT) if one.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [one.path for one in some if one.name[0] != "." and not (Path(one.path) / "run.json").exists()]
