# SPDX-License-Identifier: BSD-3-Clause
"""What stands for a mesh where no rank described one, as in images: pieces on disk, or a box for each rank.

The page shows files below the directory in which the program started, and those that its user named or
agreed to. A run directory may come from somebody else, and could name any place.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.configuration import BOXES
from perfield.derived.run import Run
from perfield.pictures.blocks import MeshError, MeshMissingError
from perfield.pictures.boxes import Boxes, shown_boxes
from perfield.pictures.pieces import Pieces, started_in
from perfield.pictures.shown_mesh import shown_pieces

if TYPE_CHECKING:
    from vtkmodules.vtkCommonDataModel import vtkDataSet

    from perfield.run import AnyRun, Frame

AGAIN_S = 10.0  # until files of a running program are looked for anew
OUTSIDE = (
    "The mesh in {place} is outside the directory in which the program started, so it is shown only if you "
    "name it: perfield serve RUN --mesh PATH."
)


class LateBoxes:
    """A box for each rank, placed when the first is asked for: messages of many ranks take seconds."""

    origin, way = "the run", "a box for each rank"

    def __init__(self, run: AnyRun):
        self._run = run

    def blocks(self, rank: int, frame: Frame) -> list[tuple[int, vtkDataSet]]:
        """The rank's box. Raises MeshMissingError if nothing says where any is."""
        return self.made.blocks(rank, frame)

    @cached_property
    def made(self) -> Boxes:
        """The boxes, with `way` and `notes`."""
        return shown_boxes(self._run)


@dataclass(frozen=True)
class Found:
    """pieces : None if there is nothing to show. notes : sentences on them, or why there are none. versions :
    int (n_frames,), the number of the mesh in each frame."""

    pieces: Pieces | None
    notes: tuple[str, ...]
    versions: np.ndarray


class MeshOnDisk:
    """Looks for the mesh once, or until a growing run has one. Not for several threads at once."""

    def __init__(self, path: Path | None, rank_array: str | None, agrees: Callable[[str], bool]):
        """path, rank_array : as for `shown_pieces`. agrees : whether the user wants a place outside shown."""
        self._path, self._rank_array, self._agrees = path, rank_array, agrees
        self._found: tuple[Pieces | None, tuple[str, ...]] | None = None
        self._next = 0.0
        self._numbers: dict[float, int] = {}  # of versions, by the time of the mesh

    @property
    def is_named(self) -> bool:
        """Whether it takes the place of a mesh that the run stored."""
        return self._path is not None

    def of(self, run: Run, times: np.ndarray, begin_s: np.ndarray) -> Found:
        """What is known now. times, begin_s : (n_frames,) of the program and on the run's clock, NaN where
        unknown."""
        is_final = self._found and (_has_times(self._found[0]) or run.state != "running")
        if not is_final and time.monotonic() >= self._next:
            self._found = self._look(run)
            self._next = time.monotonic() + AGAIN_S
        pieces, notes = self._found
        return Found(pieces, notes, self._versions(pieces, times, begin_s))

    def _look(self, run: Run) -> tuple[Pieces | None, tuple[str, ...]]:
        if not len(run):
            return None, ("The run has no frame yet, so its mesh is not known.",)
        path = self._path
        try:
            pieces, notes = shown_pieces(run, path, self._rank_array, LateBoxes)
            place = _place(pieces)
            if path is None and place is not None and not place.is_relative_to(started_in(run)):
                if self._agrees(str(place)):
                    self._path = place
                else:
                    pieces, notes = shown_pieces(run, BOXES, boxes=LateBoxes)
                    notes = [OUTSIDE.format(place=place), *notes]
        except MeshMissingError as error:
            return None, (str(error),)
        return pieces, tuple(notes)

    def _versions(self, pieces: Pieces | None, times: np.ndarray, begin_s: np.ndarray) -> np.ndarray:
        if not _has_times(pieces):
            return np.zeros(len(times), np.int64)
        try:
            of_frames = pieces.mesh_times(times, begin_s)
        except (OSError, MeshError):
            return np.zeros(len(times), np.int64)
        for one in of_frames:
            self._numbers.setdefault(one, len(self._numbers))
        return np.array([self._numbers[one] for one in of_frames], np.int64)


def _has_times(pieces: Pieces | None) -> bool:
    """Whether pieces are files, which may change with time."""
    return hasattr(pieces, "mesh_times")


def _place(pieces: Pieces) -> Path | None:
    """Where files are; None for boxes."""
    return Path(pieces.place).resolve() if _has_times(pieces) else None
