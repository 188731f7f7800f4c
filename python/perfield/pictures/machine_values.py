# SPDX-License-Identifier: BSD-3-Clause
"""Gives parts of the machine, and switches, the mean and the largest value of their ranks."""

from __future__ import annotations

import numpy as np

from perfield.topology import Cells

LARGEST = "_rank_max"  # follows a field's name: the largest value of a part's ranks
PLACES = {"rank", "node_id", "host_name", "package_id", "core_id", "pu_id"}  # not to be averaged


class PartRanks:
    """The ranks of each part of the machine.

    n_ranks : int32 (n_parts,), how many ranks each part has.
    """

    def __init__(self, part: np.ndarray, place: np.ndarray, n_parts: int):
        """part, place : int64 (n_pairs,) each; the part has the rank at this place in Cells.rank."""
        order = np.argsort(part, kind="stable")
        self.n_ranks = np.bincount(part, minlength=n_parts).astype(np.int32)
        self._place = place[order]
        self._parts = np.flatnonzero(self.n_ranks)
        self._begin = np.cumsum(self.n_ranks[self._parts]) - self.n_ranks[self._parts]

    @classmethod
    def of_machine(cls, cells: Cells) -> PartRanks:
        """The ranks of nodes and their parts.

        A part has the ranks whose PUs all belong to it, so a rank that may run on the whole node belongs to
        the node alone.
        """
        part = cells.parent[cells.ranks].astype(np.int64)
        place = np.arange(len(part))
        parts, places = [part], [place]
        while len(part):
            above = cells.parent[part]
            part, place = above[above >= 0].astype(np.int64), place[above >= 0]
            parts.append(part)
            places.append(place)
        return cls(np.concatenate(parts), np.concatenate(places), cells.machine.stop)

    @classmethod
    def of_switches(cls, cells: Cells, below: np.ndarray) -> PartRanks:
        """The ranks of the nodes that each switch leads down to. below : bool (n_switches, n_nodes)."""
        node = cells.node[cells.ranks]
        place = np.argsort(node, kind="stable")
        count = np.bincount(node, minlength=below.shape[1])
        begin = np.cumsum(count) - count
        switch, of_pair = np.nonzero(below)
        size = count[of_pair]
        offset = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        return cls(np.repeat(switch, size), place[np.repeat(begin[of_pair], size) + offset], len(below))

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
