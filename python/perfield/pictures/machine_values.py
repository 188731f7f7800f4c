# SPDX-License-Identifier: BSD-3-Clause
"""Gives parts of the machine the mean and the largest value of the ranks that run on them."""

from __future__ import annotations

import numpy as np

from perfield.topology import Cells

LARGEST = "_rank_max"  # follows a field's name: the largest value of a part's ranks
PLACES = {"rank", "node_id", "host_name", "package_id", "core_id", "pu_id"}  # not to be averaged


class PartRanks:
    """The ranks of each part of the machine.

    A part has the ranks whose PUs all belong to it, so a rank that may run on the whole node belongs to the
    node alone.

    n_ranks : int32 (n_parts,), how many ranks each part has.
    """

    def __init__(self, cells: Cells):
        n_parts = cells.machine.stop
        part = cells.parent[cells.ranks].astype(np.int64)
        place = np.arange(len(part))
        parts, places = [], []
        while len(part):
            parts.append(part)
            places.append(place)
            above = cells.parent[part]
            part, place = above[above >= 0], place[above >= 0]
        of_pair = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        order = np.argsort(of_pair, kind="stable")
        self.n_ranks = np.bincount(of_pair, minlength=n_parts).astype(np.int32)
        self._place = np.concatenate(places)[order] if parts else of_pair
        self._parts = np.flatnonzero(self.n_ranks)
        self._begin = np.cumsum(self.n_ranks[self._parts]) - self.n_ranks[self._parts]

    def mean_and_largest(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the largest finite value of each part's ranks, float32 (n_parts,); NaN without any.

        values : (n placed ranks,), in the order of Cells.rank.
        """
        mean, largest = np.full((2, len(self.n_ranks)), np.nan, np.float32)
        if not len(self._parts):
            return mean, largest
        values = np.asarray(values, float)
        finite = np.isfinite(values)
        if finite.all():  # the usual case, and much quicker
            of_pair = values[self._place]
            mean[self._parts] = np.add.reduceat(of_pair, self._begin) / self.n_ranks[self._parts]
            largest[self._parts] = np.maximum.reduceat(of_pair, self._begin)
            return mean, largest
        total = np.add.reduceat(np.where(finite, values, 0.0)[self._place], self._begin)
        count = np.add.reduceat(finite[self._place].astype(np.int64), self._begin)
        most = np.maximum.reduceat(np.where(finite, values, -np.inf)[self._place], self._begin)
        mean[self._parts] = np.where(count, total / np.maximum(count, 1), np.nan)
        largest[self._parts] = np.where(count, most, np.nan)
        return mean, largest
