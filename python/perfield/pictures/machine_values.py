# SPDX-License-Identifier: BSD-3-Clause
"""Gives parts of the machine, switches and devices the mean, the largest value, ... of their ranks."""

from __future__ import annotations

import numpy as np

from perfield.analysis.statistics import STATISTICS, statistics
from perfield.topology import Cells

PLACES = {"rank", "node_id", "host_name", "package_id", "core_id", "pu_id"}
CLASSES = {"regime_shade", "regime"}  # whose largest value counts
NOT_AVERAGED = PLACES | CLASSES
_OF_EACH_RANK = (
    *("device_kernel_count", "device_kernel_time_s", "device_copy_count", "device_copy_time_s"),
    *("device_copy_to_bytes", "device_copy_from_bytes", "device_copy_within_bytes"),
    "device_own_memory_bytes",
)
ADDED_UP_ON_DEVICES = frozenset(name + mean for name in _OF_EACH_RANK for mean in ("", "_mean"))
"""What each rank does and has on its devices, also in the mean of all steps; a device has the sum over the
ranks that use it."""
SUFFIXES = {name: f"_rank_{name}" for name in STATISTICS if name != "mean"}
"""Follow a field's name in arrays: `compute_time_s_rank_std` is the standard deviation over ranks."""
LARGEST = SUFFIXES["max"]


class RankGroups:
    """Groups of ranks that share places of a table of values; a place may belong to several groups.

    n_ranks : int32 (n_groups,), how many ranks each group has.

    Most groups of a large machine have one rank: its core, its PU. Their values are only copied.
    """

    def __init__(self, group: np.ndarray, place: np.ndarray, n_groups: int):
        """group, place : int (n,) each: the value at `place` belongs to the group."""
        self.n_ranks = np.bincount(group, minlength=n_groups).astype(np.int32)
        is_alone = self.n_ranks[group] == 1
        self._alone, self._alone_place = group[is_alone], place[is_alone]
        group, place = group[~is_alone], place[~is_alone]
        if np.any(group[1:] < group[:-1]):
            order = np.argsort(group, kind="stable")
            group, place = group[order], place[order]
        self._place = place
        self._several = np.flatnonzero(self.n_ranks > 1)
        size = self.n_ranks[self._several]
        self._begin = np.cumsum(size) - size
        self._edges = self._ranges(size)

    def _ranges(self, size: np.ndarray) -> np.ndarray | None:
        """Begin and end of each group of several ranks, in turn, if its ranks are neighbours in the table."""
        follows = np.ones(len(self._place), bool)
        np.equal(self._place[1:], self._place[:-1] + 1, out=follows[1:])
        follows[self._begin] = True
        first = self._place[self._begin]
        return np.stack([first, first + size], axis=1).ravel() if follows.all() else None

    def _over(self, operation: np.ufunc, values: np.ndarray) -> np.ndarray:
        """Reduces the values of each group of several ranks."""
        if self._edges is None:
            return operation.reduceat(values[self._place], self._begin)
        # An edge may be the end of the table, and every second range lies between groups.
        return operation.reduceat(np.append(values, values[:1]), self._edges)[::2]

    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """Begin, int64 (n_groups + 1,), and places: those of group g are places[begin[g] : begin[g + 1]]."""
        begin = np.zeros(len(self.n_ranks) + 1, np.int64)
        np.cumsum(self.n_ranks, out=begin[1:])
        places = np.empty(begin[-1], np.int64)
        places[begin[self._alone]] = self._alone_place
        size = self.n_ranks[self._several]
        places[np.repeat(begin[self._several] - self._begin, size) + np.arange(size.sum())] = self._place
        return begin, places

    def mean_and_largest(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the largest finite value of each group, float32 (n_groups,); NaN without any.

        values : (n places,).
        """
        mean = np.full(len(self.n_ranks), np.nan, np.float32)
        if not len(mean):
            return mean, mean.copy()
        values = np.asarray(values, float)
        finite = np.isfinite(values)
        every = bool(finite.all())  # the common case, and much quicker
        mean[self._alone] = (values if every else np.where(finite, values, np.nan))[self._alone_place]
        largest = mean.copy()
        if not len(self._several):
            return mean, largest
        if every:
            mean[self._several] = self._over(np.add, values) / self.n_ranks[self._several]
            largest[self._several] = self._over(np.maximum, values)
            return mean, largest
        total, count = (
            self._over(np.add, np.where(finite, values, 0.0)),
            self._over(np.add, finite.astype(float)),
        )
        most = self._over(np.maximum, np.where(finite, values, -np.inf))
        mean[self._several] = np.where(count, total / np.maximum(count, 1), np.nan)
        largest[self._several] = np.where(count, most, np.nan)
        return mean, largest

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum of the finite values of each group, float32 (n_groups,); NaN without any.

        values : (n places,).
        """
        sums = np.full(len(self.n_ranks), np.nan, np.float32)
        values = np.asarray(values, float)
        finite = np.isfinite(values)
        sums[self._alone] = np.where(finite, values, np.nan)[self._alone_place]
        if len(self._several):
            total = self._over(np.add, np.where(finite, values, 0.0))
            sums[self._several] = np.where(self._over(np.maximum, finite.astype(float)), total, np.nan)
        return sums

    def others(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """The other statistics of each group, float32 (n_groups,) by suffix: smallest value, standard
        deviation, imbalance; as `perfield.analysis.statistics` defines them. values : (n places,)."""
        values = np.asarray(values, float)
        alone = statistics(values[self._alone_place], np.arange(len(self._alone)))
        several = statistics(values[self._place], self._begin)
        found = {}
        for number, name in enumerate(STATISTICS):
            if name not in ("mean", "max"):
                column = np.full(len(self.n_ranks), np.nan, np.float32)
                column[self._alone], column[self._several] = alone[:, number], several[:, number]
                found[SUFFIXES[name]] = column
        return found


def ranks_of_parts(cells: Cells) -> RankGroups:
    """The ranks of nodes and their parts, in the order of Cells.rank.

    A part has the ranks whose PUs all belong to it, so a rank that may run on the whole node belongs to the
    node alone.
    """
    part = cells.parent[cells.ranks].astype(np.int64)
    place = np.arange(len(part))
    parts, places = [part], [place]
    while len(part):
        above = cells.parent[part]
        part, place = above[above >= 0].astype(np.int64), place[above >= 0]
        parts.append(part)
        places.append(place)
    return RankGroups(np.concatenate(parts), np.concatenate(places), cells.machine.stop)


def ranks_of_switches(cells: Cells, below: np.ndarray) -> RankGroups:
    """The ranks of the nodes that each switch leads down to, in the order of Cells.rank.

    below : bool (n_switches, n_nodes).
    """
    node = cells.node[cells.ranks]
    place = np.argsort(node, kind="stable")
    count = np.bincount(node, minlength=below.shape[1])
    begin = np.cumsum(count) - count
    switch, of_pair = np.nonzero(below)
    size = count[of_pair]
    offset = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    return RankGroups(np.repeat(switch, size), place[np.repeat(begin[of_pair], size) + offset], len(below))
