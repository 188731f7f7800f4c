# SPDX-License-Identifier: BSD-3-Clause
"""The boxes of an AMReX plotfile: a folder with a Header, and for each level a Cell_H.

Source of the format: WriteGenericPlotfileHeader in Src/Base/AMReX_PlotFileUtil.cpp, and VisMF::Header and
NFilesIter::FileNumber in Src/Base, of github.com/AMReX-Codes/amrex. Cell_H names the file of each box. Files
have the numbers of ranks where AMReX writes one for each rank, which the highest number shows. With fewer
files nothing in the plotfile says which rank wrote what, so it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from perfield.catalyst_scripts.safe_open import safe_read
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.listed_boxes import BoxTable

HEADER = "Header"
MOST_BOXES = 50_000  # with the parts that finer levels leave of coarser boxes
MOST_LEVELS = 64
_BOX = re.compile(r"\(\(([-\d,]+)\)\s*\(([-\d,]+)\)\s*\([\d,]+\)\)")
_FILE = re.compile(r"^FabOnDisk:\s+\S*?(\d+)\s+\d+\s*$", re.M)
_NUMBERS = re.compile(r"-?\d{1,18}")


@dataclass(frozen=True)
class _Level:
    """cell : (dim,), the size of a cell. low : (dim,), index of the domain's first cell. boxes : int64
    (n_boxes, 2, dim), the first cell of each and the one behind its last. rank : int64 (n_boxes,)."""

    cell: np.ndarray
    low: np.ndarray
    boxes: np.ndarray
    rank: np.ndarray


def is_plotfile(path: Path) -> bool:
    """Whether a folder is a plotfile."""
    return (path / HEADER).is_file() and (path / "Level_0").is_dir()


def time_of(path: Path) -> float:
    """The simulation's time of a plotfile. Raises MeshMissingError if the folder is none; OSError."""
    with _named(path):
        return _header(path)[1]


def amrex_boxes(path: Path, n_ranks: int) -> BoxTable:
    """The boxes of all levels, where no finer level covers them, with the field `level`.

    Raises MeshMissingError if the folder is no plotfile, or nothing says which rank has which box; OSError.
    """
    with _named(path):
        origin, levels = _levels(path)
    highest = max((int(level.rank.max(initial=-1)) for level in levels), default=-1)
    if highest < n_ranks - 1:
        raise MeshMissingError(
            f"{path} has files up to number {highest}, but the run has {n_ranks} ranks, so nothing says "
            "which rank owns a box. Let AMReX write a file per rank: amr.plot_nfiles = -1, or "
            f"VisMF::SetNOutFiles({n_ranks})."
        )
    rank, ends, numbers = [], [], []
    for number, level in enumerate(levels):
        finer = levels[number + 1] if number + 1 < len(levels) else None
        for owner, box in _uncovered(level, finer):
            places = origin + (box - level.low) * level.cell
            rank.append(owner)
            ends.append(np.pad(places, ((0, 0), (0, 3 - places.shape[1]))).T.ravel())
            numbers.append(number)
            if len(rank) > MOST_BOXES:
                raise MeshMissingError(f"{path} has more than {MOST_BOXES:,} boxes, which are not shown.")
    fields = {"level": np.array(numbers, np.int32)}
    return BoxTable(np.array(rank, np.int64), np.array(ends).reshape(-1, 6), fields)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors in a plotfile become a MeshMissingError that names it."""
    try:
        yield
    except (ValueError, OverflowError, StopIteration) as error:
        why = str(error) or f"its {HEADER} ends too early"
        raise MeshMissingError(f"{path} is no AMReX plotfile that perfield reads: {why}.") from error


def _header(path: Path) -> tuple[int, float, Iterator[str]]:
    """The number of dimensions, the time, and the lines that follow."""
    lines = iter(safe_read(path / HEADER, path).decode().splitlines())
    next(lines)  # the version
    for _ in range(int(next(lines))):
        next(lines)  # names of fields
    dim, time = int(next(lines)), float(next(lines))
    if not np.isfinite(time):
        raise ValueError(f"its {HEADER} states the time {time}")
    return dim, time, lines


def _levels(path: Path) -> tuple[np.ndarray, list[_Level]]:
    """The lowest corner of the domain (dim,), and all levels, the coarsest first."""
    dim, _, lines = _header(path)
    finest = int(next(lines))
    if not (1 <= dim <= 3 and 0 <= finest < MOST_LEVELS):
        raise ValueError(f"its {HEADER} states {dim} dimensions and {finest + 1} levels")
    origin = _floats(next(lines), dim)
    _, _ = next(lines), next(lines)  # the highest corner, and ratios of levels
    domains = _BOX.findall(next(lines))
    if len(domains) != finest + 1:
        raise ValueError(f"its {HEADER} has {len(domains)} domains for {finest + 1} levels")
    next(lines)  # steps
    cells = [_floats(next(lines), dim) for _ in range(finest + 1)]
    levels = []
    for number in range(finest + 1):
        low = _index(domains[number][0], dim)
        boxes, rank = _cells(path / f"Level_{number}" / "Cell_H", path, dim)
        levels.append(_Level(cells[number], low, boxes, rank))
    return origin, levels


def _cells(file: Path, path: Path, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """The boxes of a level, and the number of the file of each."""
    text = safe_read(file, path).decode()
    found, files = _BOX.findall(text), _FILE.findall(text)
    name = f"{file.parent.name}/{file.name}"
    if len(found) != len(files) or not found:
        raise ValueError(f"{name} has {len(found)} boxes and names {len(files)} files for them")
    boxes = np.array([(_index(low, dim), _index(high, dim) + 1) for low, high in found])
    if (boxes[:, 1] <= boxes[:, 0]).any():
        raise ValueError(f"{name} has a box without cells")
    return boxes, np.array([int(number[-9:]) for number in files])


def _floats(line: str, dim: int) -> np.ndarray:
    values = np.array([float(word) for word in line.split()])
    if len(values) != dim or not np.isfinite(values).all():
        raise ValueError(f"its {HEADER} has the line {line[:60]!r} in the place of {dim} numbers")
    return values


def _index(text: str, dim: int) -> np.ndarray:
    values = [int(number) for number in _NUMBERS.findall(text)]
    if len(values) != dim or max(map(abs, values)) >= 1 << 40:
        raise ValueError(f"a box has the corner ({text[:60]}) in the place of {dim} whole numbers")
    return np.array(values, np.int64)


def _uncovered(level: _Level, finer: _Level | None) -> Iterator[tuple[int, np.ndarray]]:
    """The rank and the box (2, dim), in cells, of what the next level leaves of each box."""
    holes = np.zeros((0, 2, level.boxes.shape[2]), np.int64)
    if finer is not None:
        ratio = np.maximum(np.rint(level.cell / finer.cell).astype(np.int64), 1)
        first, last = finer.boxes[:, 0] - finer.low, finer.boxes[:, 1] - finer.low
        holes = np.stack([first // ratio, -(-last // ratio)], axis=1) + level.low
    for rank, box in zip(level.rank.tolist(), level.boxes):
        parts = [box]
        for hole in holes[(holes[:, 0] < box[1]).all(axis=1) & (holes[:, 1] > box[0]).all(axis=1)]:
            parts = [part for one in parts for part in _without(one, hole)]
        for part in parts:
            yield rank, part


def _without(box: np.ndarray, hole: np.ndarray) -> Iterator[np.ndarray]:
    """A box without a hole, as boxes beside each other."""
    if (hole[0] >= box[1]).any() or (hole[1] <= box[0]).any():
        yield box
        return
    left = box.copy()
    for axis in range(box.shape[1]):
        for end, other in ((0, 1), (1, 0)):
            if (hole[end, axis] - left[end, axis]) * (1 - 2 * end) > 0:
                part = left.copy()
                part[other, axis] = left[end, axis] = hole[end, axis]
                yield part
