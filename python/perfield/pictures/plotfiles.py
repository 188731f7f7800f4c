# SPDX-License-Identifier: BSD-3-Clause
"""The boxes of AMReX plotfiles that a program wrote one after another: plt00000, plt00010, ..."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkDataSet

from perfield.pictures.amrex_boxes import amrex_boxes, is_plotfile, time_of
from perfield.pictures.listed_boxes import ListedBoxes
from perfield.pictures.mesh_files import begin_of, newest_until, time_if_other

if TYPE_CHECKING:
    from perfield.run import Frame

NUMBERED = re.compile(r".*\d{3,}")


class Plotfiles:
    """A frame shows the newest plotfile at or before its time; where the program gives no times, the newest
    that was written before the frame began.

    begin_ns : CLOCK_REALTIME at the run's second 0. Raises MeshMissingError if the newest cannot be read, or
    nothing says which rank has which box; OSError.
    """

    are_cells, gap, dimension = ListedBoxes.are_cells, ListedBoxes.gap, 0  # as no cells are known

    def __init__(self, paths: Iterable[Path], n_ranks: int, begin_ns: int):
        of_times = sorted((time_of(path), path) for path in paths)
        self._paths, self._n_ranks = [path for _, path in of_times], n_ranks
        self._times = [time for time, _ in of_times]
        self._written_s = np.array([(written_ns(path) - begin_ns) * 1e-9 for path in self._paths])
        first, last = self._paths[0], self._paths[-1]
        self.name = first.name if first == last else f"{first.name} to {last.name}"
        self.place, self.way = first.parent, f"boxes from {self.name}"
        self.origin = str(first.parent / self.name)
        self._shown = len(self._paths) - 1, self._boxes(last)
        self.notes = self._shown[1].notes

    def blocks(self, rank: int, frame: Frame | None) -> list[tuple[int, vtkDataSet]]:
        """The rank's boxes."""
        number = self._number(np.nan, np.nan) if frame is None else self._number(frame.time, begin_of(frame))
        if number != self._shown[0]:
            self._shown = number, self._boxes(self._paths[number])
        return self._shown[1].blocks(rank, frame)

    def mesh_times(self, times: Iterable[float], begin_s: Iterable[float]) -> list[float]:
        """For each frame, the time of the plotfile that it shows."""
        return [self._times[self._number(*frame)] for frame in zip(times, begin_s)]

    def older_times(self, frame: Frame) -> tuple[float | None, float | None]:
        """The time of the plotfile, for the mesh and for its fields, where that is not the frame's own."""
        time = time_if_other(self._times[self._number(frame.time, begin_of(frame))], frame)
        return time, time

    def _number(self, time: float, begin_s: float) -> int:
        """Which plotfile shows a frame with this time and begin; the last if both are unknown."""
        if np.isfinite(time) or not np.isfinite(begin_s):
            return self._times.index(newest_until(self._times, float(time)))
        return max(0, int(np.searchsorted(self._written_s, begin_s, side="right")) - 1)

    def _boxes(self, path: Path) -> ListedBoxes:
        return ListedBoxes(path, self._n_ranks, partial(amrex_boxes, n_ranks=self._n_ranks))


def written_ns(path: Path) -> int:
    """When a plotfile was written."""
    return (path / "Header").stat().st_mtime_ns


def numbered_plotfiles(folders: Iterable[Path]) -> Iterator[Path]:
    """Those of some folders that are plotfiles of a step."""
    return (path for path in folders if NUMBERED.fullmatch(path.name) and is_plotfile(path))
