# SPDX-License-Identifier: BSD-3-Clause
"""Gives parts of the machine the mean and the largest value of the ranks that run on them."""

from __future__ import annotations

import numpy as np

from perfield.topology import Cells

LARGEST = "_rank_max"  # follows a field's name: the largest value of a part's ranks
PLACES = {"rank", "node_id", "host_name", "package_id", "core_id", "pu_id"}  # not to be averaged


class RankGroups:
    """Groups of ranks, of which each gives values.

    n_ranks : int32 (n_groups,), how many ranks each group has.
    """

    def __init__(self, group: np.ndarray, place: np.ndarray, n_groups: int):
        """group, place : int (n,) each: the rank whose value is at `place` belongs to the group."""
        order = np.argsort(group, kind="stable")
        self.n_ranks = np.bincount(group, minlength=n_groups).astype(np.int32)
        self._place = place[order]
        self._groups = np.flatnonzero(self.n_ranks)
        self._begin = np.cumsum(self.n_ranks[self._groups]) - self.n_ranks[self._groups]

    def mean_and_largest(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the largest finite value of each group, float32 (n_groups,); NaN without any.

        values : (n places,).
        """
        mean, largest = np.full((2, len(self.n_ranks)), np.nan, np.float32)
        if not len(self._groups):
            return mean, largest
        values = np.asarray(values, float)
        finite = np.isfinite(values)
        if finite.all():  # the usual case, and much quicker
            of_pair = values[self._place]
            mean[self._groups] = np.add.reduceat(of_pair, self._begin) / self.n_ranks[self._groups]
            largest[self._groups] = np.maximum.reduceat(of_pair, self._begin)
            return mean, largest
        total = np.add.reduceat(np.where(finite, values, 0.0)[self._place], self._begin)
        count = np.add.reduceat(finite[self._place].astype(np.int64), self._begin)
        most = np.maximum.reduceat(np.where(finite, values, -np.inf)[self._place], self._begin)
        mean[self._groups] = np.where(count, total / np.maximum(count, 1), np.nan)
        largest[self._groups] = np.where(count, most, np.nan)
        return mean, largest


class PartRanks(RankGroups):
    """The ranks of each part of the machine; values are in the order of Cells.rank.

    A part has the ranks whose PUs all belong to it, so a rank that may run on the whole node belongs to the
    node alone.
    """

    def __init__(self, cells: Cells):
        part = cells.parent[cells.ranks].astype(np.int64)
        place = np.arange(len(part))
        parts, places = [part], [place]
        while len(part):
            above = cells.parent[part]
            part, place = above[above >= 0], place[above >= 0]
            parts.append(part)
            places.append(place)
        super().__init__(np.concatenate(parts), np.concatenate(places), cells.machine.stop)
