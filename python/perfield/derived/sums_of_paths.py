# SPDX-License-Identifier: BSD-3-Clause
"""Adds up what regions cost on each call path over frames, and what balancing it there would save."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.run.snapshot import NUMBERS_PER_CHUNK

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory

OF_RANKS = ("time_s", "self_time_s", "mpi_time_s", "file_time_s")


class SumsOfPaths:
    """The times of all call paths of a run, added up over some frames.

    Times are those of all threads of a rank together. Cost is the time without MPI and files.

    time_s, self_time_s, mpi_time_s, file_time_s : (n_paths, n_ranks) seconds, 0 where a rank never entered.
    entered : (n_paths, n_ranks), in how many frames the rank entered the path. count : (n_paths,) entries.
    longest_s, mean_s : (n_paths,) seconds, the sums over frames of the largest and of the mean cost of a
    rank. peak_s, peak_rank, peak_frame : (n_paths,) the largest cost of a rank in a frame, its rank, and the
    frame's position in the run; -1 where no rank entered.
    """

    def __init__(self, run: RunDirectory, positions: np.ndarray):
        """positions : of the frames to add up."""
        self.all = run.known_paths.all
        self.time_s, self.self_time_s, self.mpi_time_s, self.file_time_s = np.zeros((4, 0, run.n_ranks))
        self.entered, self.count = np.zeros((0, run.n_ranks), np.int64), np.zeros(0, np.int64)
        self.longest_s, self.mean_s, self.peak_s = np.zeros((3, 0))
        self.peak_rank, self.peak_frame = np.full((2, 0), -1)
        self._make_room()
        at_once = max(1, NUMBERS_PER_CHUNK // max(1, 10 * len(self.all) * run.n_ranks))
        for begin in range(0, len(positions) if self.all else 0, at_once):
            here = positions[begin : begin + at_once]
            rows = run.rows(here, "paths")
            self._make_room()
            self._add(here, rows)

    @property
    def saved_s(self) -> np.ndarray:
        """(n_paths,) seconds that balancing the region on this path would save at most."""
        return self.longest_s - self.mean_s

    def of_divided_regions(self) -> np.ndarray:
        """The paths (index in `all`) that ranks entered, of regions that they entered on several paths."""
        there = np.flatnonzero(self.entered.any(axis=1))
        regions = [self.all[path].region for path in there.tolist()]
        return there[[regions.count(region) > 1 for region in regions]]

    def _make_room(self) -> None:
        """For paths that reading has added."""
        more = len(self.all) - len(self.count)
        for name, values in vars(self).items():
            if isinstance(values, np.ndarray):
                unknown = -1 if name in ("peak_rank", "peak_frame") else 0
                room = [(0, more), *[(0, 0)] * (values.ndim - 1)]
                setattr(self, name, np.pad(values, room, constant_values=unknown))

    def _add(self, positions: np.ndarray, rows: np.ndarray) -> None:
        where = rows["path"], rows["rank"]
        for name in OF_RANKS:
            np.add.at(getattr(self, name), where, rows[name])
        np.add.at(self.entered, where, 1)
        np.add.at(self.count, rows["path"], rows["count"])
        order = np.lexsort((rows["path"], rows["step"]))
        rows = rows[order]
        key = rows[["step", "path"]]
        begin = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(rows)])
        if not len(begin):
            return
        cost = np.maximum(rows["time_s"] - rows["mpi_time_s"] - rows["file_time_s"], 0.0)
        counts = np.diff(np.append(begin, len(rows)))
        paths = rows["path"][begin]
        np.add.at(self.longest_s, paths, np.maximum.reduceat(cost, begin))
        np.add.at(self.mean_s, paths, np.add.reduceat(cost, begin) / counts)
        by_cost = np.lexsort((-cost, rows["path"]))
        _, first = np.unique(rows["path"][by_cost], return_index=True)
        largest, largest_s = rows[by_cost[first]], cost[by_cost[first]]
        is_more = largest_s > np.where(self.peak_rank < 0, -1.0, self.peak_s)[largest["path"]]
        more = largest[is_more]
        self.peak_s[more["path"]], self.peak_rank[more["path"]] = largest_s[is_more], more["rank"]
        self.peak_frame[more["path"]] = positions[more["step"]]
