# SPDX-License-Identifier: BSD-3-Clause
"""Boxes in space that a file lists: a table (.csv), for codes that write no mesh, or an AMReX plotfile."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkDataSet, vtkImageData

from perfield.catalyst_scripts.safe_open import safe_read
from perfield.pictures.blocks import MeshMissingError, attach
from perfield.text import counted, first_of

if TYPE_CHECKING:
    from perfield.run import Frame

ENDS = ("x0", "x1", "y0", "y1", "z0", "z1")
TABLE = "a table with the columns rank,x0,x1,y0,y1,z0,z1 and one box a line"
MOST_BOXES = 1_000_000


@dataclass(frozen=True)
class BoxTable:
    """rank : (n_boxes,) int64. ends : (n_boxes, 6), x0, x1, y0, ... of each. fields : further columns."""

    rank: np.ndarray
    ends: np.ndarray
    fields: dict[str, np.ndarray]


class ListedBoxes:
    """The boxes that a file lists for each rank, the same in all steps; their further numbers are own fields.

    read : makes the table. Raises MeshMissingError, with what is wrong, for a file that is no such table or
    is of another run.
    """

    are_cells = False  # a box holds cells whose number nobody knows
    gap = 0.0  # between boxes that are neighbours

    def __init__(self, path: Path, n_ranks: int, read: Callable[[Path], BoxTable]):
        self.origin, self.place, self.way = str(path), path, f"boxes from {path.name}"
        try:
            table = read(path)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise MeshMissingError(f"boxes {path} cannot be read: {error}") from error
        unknown = np.unique(table.rank[(table.rank < 0) | (table.rank >= n_ranks)])
        if len(unknown):
            raise MeshMissingError(
                f"{path} has boxes of {counted(len(unknown), 'rank')} that this run does not have "
                f"({first_of(unknown)}); it has the ranks 0 to {n_ranks - 1}, so the file is of another run."
            )
        without = np.setdiff1d(np.arange(n_ranks), table.rank)
        some = f"{path.name} has no box of {counted(len(without), 'rank')}: {first_of(without)}."
        self.notes = [some] if len(without) else []
        self._table = table
        self._rows = np.split(np.argsort(table.rank, kind="stable"), np.cumsum(np.bincount(table.rank))[:-1])

    def blocks(self, rank: int, frame: Frame | None) -> list[tuple[int, vtkDataSet]]:
        """The rank's boxes, in the order of the file."""
        rows = self._rows[rank] if rank < len(self._rows) else ()
        return [(number, self._box(row)) for number, row in enumerate(rows)]

    def mesh_times(self, times: Iterable[float], begin_s: Iterable[float]) -> list[float]:
        """One mesh for all times of frames."""
        return [0.0 for _ in times]

    def _box(self, row: int) -> vtkImageData:
        low, high = self._table.ends[row].reshape(3, 2).T
        extent = (high > low).astype(int)
        box = vtkImageData()
        box.SetExtent(0, extent[0], 0, extent[1], 0, extent[2])
        box.SetSpacing(*np.where(extent, high - low, 1.0))
        box.SetOrigin(*low)
        for name, values in self._table.fields.items():
            attach(box, name, values[row : row + 1], "cell")
        return box


def table_of(path: Path) -> BoxTable:
    """The boxes of a .csv file. Raises MeshMissingError, OSError, or csv.Error."""
    rows = csv.DictReader(io.StringIO(safe_read(path).decode()), skipinitialspace=True)
    names = [(name or "").strip() for name in rows.fieldnames or ()]
    missing = [name for name in ("rank", *ENDS[:4]) if name not in names]
    if missing or ("z0" in names) != ("z1" in names):
        found = ", ".join(names) or "none"
        raise MeshMissingError(
            f"{path} has the columns {found}; expected {TABLE} (z0 and z1 may be left out)."
        )
    numbers = []
    for line, row in enumerate(rows, start=2):
        try:
            numbers.append([float(value) for value in list(row.values())[: len(names)]])
        except (TypeError, ValueError):
            numbers.append([math.nan])
        if len(numbers[-1]) != len(names) or None in row or not all(map(math.isfinite, numbers[-1])):
            raise MeshMissingError(
                f"line {line} of {path} has not one number for each of {', '.join(names)}."
            )
        if len(numbers) > MOST_BOXES:
            raise MeshMissingError(f"{path} has more than {MOST_BOXES:,} boxes, which are not shown.")
    columns = dict(zip(names, np.array(numbers, float).reshape(-1, len(names)).T))
    rank = columns.pop("rank")
    ends = np.stack([columns.pop(end, np.zeros(len(rank))) for end in ENDS], axis=1)
    lengths = ends[:, 1::2] - ends[:, ::2]
    wrong = np.flatnonzero((lengths < 0).any(axis=1) | (rank != np.floor(rank)) | (abs(rank) > 1e9))
    if len(wrong):
        raise MeshMissingError(
            f"line {wrong[0] + 2} of {path}: expected a whole number of a rank, and x0 <= x1 and so on."
        )
    if not len(rank):
        raise MeshMissingError(f"{path} lists no box; expected {TABLE}.")
    return BoxTable(rank.astype(np.int64), ends, {name: _whole(values) for name, values in columns.items()})


def _whole(values: np.ndarray) -> np.ndarray:
    """The same values, of an integer type if all are whole, so that legends have whole numbers."""
    small = np.abs(values) < 2**31
    return values.astype(np.int32) if (small & (values == np.floor(values))).all() else values
