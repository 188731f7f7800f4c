# SPDX-License-Identifier: BSD-3-Clause
"""Where slow phases strike: whether they cluster by switch, node or package, tested against chance.

The test exchanges whole series among places (a permutation test), so steps may be as alike as they are.
Ranks of a node share its steps, so the test of switches exchanges whole nodes; that of nodes exchanges ranks
below one switch, and that of packages ranks of one node. So what is slow together for a switch is not taken
for a cluster of its nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, lgamma
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from scipy.sparse import csr_matrix

from perfield.studies.regimes.model.places import LEVELS, places
from perfield.studies.regimes.model.statistics import slow_points
from perfield.text import in_list, in_percent

if TYPE_CHECKING:
    from perfield.topology import Placement

N_PERMUTATIONS = 4999
CHANCE = 0.05  # of one false cluster on all levels together
PLURAL = {"switch": "switches", "node": "nodes", "package": "packages"}
STANDS_OUT = 2.0  # times as many slow steps as in any other place: such places are named
_ENOUGH = 20  # permutations that cluster as much: no need for more (Besag and Clifford, 1991)
_AT_ONCE = 100  # permutations
_FEW_UNITS = 64  # whose products fit into memory, for all permutations at once
_NUMBERS = 2**18  # of the table that is permuted: steps are joined beyond


@dataclass(frozen=True)
class Cluster:
    """Whether slow phases cluster on a level of the machine.

    level : "switch", "node" or "package". chance : the probability that ranks that are exchanged among places
    are slow together as much; NaN where nothing can be exchanged. least : the smallest chance that so few
    places and ranks can have. places : where there is a cluster, the names of those that were slow in twice
    as many steps as any other; empty if none stands out. share, others : the shares of slow steps in these
    places and elsewhere; NaN without such places. n_places : how many there are.
    """

    level: str
    chance: float
    least: float
    places: tuple[str, ...]
    share: float
    others: float
    n_places: int

    @property
    def is_cluster(self) -> bool:
        """Whether slow phases cluster on this level, beyond chance on all levels together."""
        return bool(self.chance * len(LEVELS) <= CHANCE)

    @property
    def words(self) -> str:
        """One sentence with the numbers."""
        by = f"cluster by {self.level}"
        if np.isnan(self.chance) or (not self.is_cluster and self.least * len(LEVELS) > CHANCE):
            return f"Whether slow phases {by} cannot be shown: {self._too_few}."
        if not self.is_cluster:
            return f"Slow phases do not {by} beyond chance ({self._by_chance})."
        words = f"Slow phases {by} ({self._by_chance})"
        if not self.places:
            return f"{words}: the ranks of one {self.level} are slow at the same times."
        verb = "was" if len(self.places) == 1 else "were"
        return (
            f"{words}: {self.named} {verb} in the slow regime in {in_percent(self.share)} of the steps, the "
            f"others in {in_percent(self.others)}."
        )

    @property
    def named(self) -> str:
        """The places that stand out, in words: "node n3", "switches s1 and s2", "n1 package 0"."""
        if self.level == "package":
            return in_list(self.places)
        return f"{self.level if len(self.places) == 1 else PLURAL[self.level]} {in_list(self.places)}"

    @property
    def _by_chance(self) -> str:
        return f"ranks exchanged at random do as much in {in_percent(self.chance)} of cases"

    @property
    def _too_few(self) -> str:
        plural = PLURAL[self.level]
        if self.n_places == 0:
            return f"the {plural} of these ranks are not known"
        if self.n_places == 1:
            return f"all ranks are on one {self.level}"
        if np.isnan(self.chance):
            return f"these ranks cannot be exchanged among {plural}"
        return (
            f"{self.n_places} {plural} are too few, as ranks exchanged at random do as much in "
            f"{in_percent(self.least)} of cases"
        )


def where(
    classified: xr.Dataset,
    placement: Placement,
    *,
    n_permutations: int = N_PERMUTATIONS,
    seed: int = 0,
) -> tuple[Cluster, ...]:
    """Whether the slowest regime clusters by switch, node and package: one answer per level.

    The measure is the variance between places of slow steps, step by step; where there are very many
    numbers, neighbouring steps are joined. The same seed gives the same answer. Ranks without a place are
    left out. Raises RegimeError for timings without regimes.
    """
    ranks = classified["rank"].values
    table = _joined(slow_points(classified))
    number = {level: places(placement, ranks, level) for level in LEVELS}
    found = []
    for level in LEVELS:
        place, names = number[level]
        node = number["node"][0]
        if level == "switch":
            unit, stratum = node, np.zeros(len(ranks), np.int64)
        elif level == "node":
            unit, stratum = np.arange(len(ranks)), np.maximum(number["switch"][0], 0)
        else:
            unit, stratum = np.arange(len(ranks)), node
        kept = (place >= 0) & (stratum >= 0)
        found.append(
            _cluster(level, names, table[kept], place[kept], unit[kept], stratum[kept], n_permutations, seed)
        )
    return tuple(found)


def _cluster(
    level: str,
    names: list[str],
    table: np.ndarray,
    place: np.ndarray,
    unit: np.ndarray,
    stratum: np.ndarray,
    n_permutations: int,
    seed: int,
) -> Cluster:
    """Tests one level. table : (rank, step); place, unit (what is exchanged), stratum : of each rank."""
    n_places = len(names)
    _, first, unit, size = np.unique(unit, return_index=True, return_inverse=True, return_counts=True)
    unit = unit.reshape(-1)
    of_unit, stratum_of_unit = place[first], stratum[first]
    least = exp(-_log_arrangements(of_unit, stratum_of_unit, size))
    if least > 0.999 or not table.any():
        return Cluster(level, np.nan, least, (), np.nan, np.nan, n_places)
    # Apart from the mean of the stratum in each step, so that what all share does not count.
    _, stratum = np.unique(stratum, return_inverse=True)
    in_stratum = _sums(stratum, stratum.max() + 1)
    apart = table - (in_stratum @ table / np.bincount(stratum)[:, np.newaxis])[stratum]
    rows = (_sums(unit, len(size)) @ apart).astype(np.float32)

    between = _measure(rows, size, n_places)
    found = between(of_unit[np.newaxis])[0] * (1 - 1e-6)  # sums in another order differ by rounding
    random = np.random.default_rng(seed)
    order = np.argsort(stratum_of_unit, kind="stable")
    hits = tried = 0
    while hits < _ENOUGH and tried < n_permutations:
        keys = stratum_of_unit + random.random((min(_AT_ONCE, n_permutations - tried), len(order)))
        labels = np.empty(keys.shape, of_unit.dtype)
        np.put_along_axis(labels, np.argsort(keys, axis=1), of_unit[order][np.newaxis], axis=1)
        does = np.cumsum(between(labels) >= found)
        last = np.searchsorted(does, _ENOUGH - hits)
        tried += min(last + 1, len(does))
        hits += int(does[min(last, len(does) - 1)])
    chance = max(hits / tried if hits >= _ENOUGH else (hits + 1) / (tried + 1), least)
    cluster = Cluster(level, chance, least, (), np.nan, np.nan, n_places)
    return _with_places(cluster, names, table.mean(axis=1), place) if cluster.is_cluster else cluster


def _measure(rows: np.ndarray, size: np.ndarray, n_places: int) -> Callable[[np.ndarray], np.ndarray]:
    """A function that gives the variance between places of labels (n, n_units): float64 (n,).

    rows : (n_units, n_parts), of what is exchanged. size : how many ranks each unit has.
    """
    if len(rows) <= _FEW_UNITS:
        products = rows.astype(np.float64) @ rows.T.astype(np.float64)

        def by_products(labels: np.ndarray) -> np.ndarray:
            together = labels[:, :, np.newaxis] == labels[:, np.newaxis]
            return (together * products / (together @ size)[:, :, np.newaxis]).sum(axis=(1, 2))

        return by_products

    def one_by_one(labels: np.ndarray) -> np.ndarray:
        found = []
        for label in labels:
            n_ranks = np.maximum(np.bincount(label, size, n_places), 1)
            found.append(((_sums(label, n_places) @ rows) ** 2).sum(axis=1) @ (1 / n_ranks))
        return np.array(found)

    return one_by_one


def _with_places(cluster: Cluster, names: list[str], share: np.ndarray, place: np.ndarray) -> Cluster:
    """Names the places that stand out. share : of slow steps, of each rank."""
    n_ranks = np.bincount(place, minlength=len(names))
    of_place = np.bincount(place, share, len(names)) / np.maximum(n_ranks, 1)
    order = np.argsort(-of_place, kind="stable")
    drops = -np.diff(of_place[order])
    cut = int(drops.argmax()) + 1
    if of_place[order[cut - 1]] < STANDS_OUT * of_place[order[cut]]:
        return cluster
    here = np.isin(place, order[:cut])
    named = tuple(names[one] for one in np.sort(order[:cut]))
    return replace(cluster, places=named, share=float(share[here].mean()), others=float(share[~here].mean()))


def _joined(is_slow: np.ndarray) -> np.ndarray:
    """The share of slow steps in parts of equal length; parts of one step where memory allows."""
    n_ranks, n_steps = is_slow.shape
    n_parts = min(max(_NUMBERS // max(n_ranks, 1), 32), n_steps)
    width = -(-n_steps // n_parts)
    begin = np.arange(0, n_steps, width)
    if width == 1:
        return is_slow.astype(np.float32)
    sums = np.add.reduceat(is_slow, begin, axis=1, dtype=np.int32)
    return (sums / np.diff(np.append(begin, n_steps))).astype(np.float32)


def _sums(label: np.ndarray, n: int) -> csr_matrix:
    """A matrix that adds up the rows of each label: (n, n_rows)."""
    return csr_matrix((np.ones(len(label), np.float32), (label, np.arange(len(label)))), (n, len(label)))


def _log_arrangements(place: np.ndarray, stratum: np.ndarray, size: np.ndarray) -> float:
    """The logarithm of the number of ways to divide units among places that differ: places of as many units,
    in one stratum, are alike."""
    total = 0.0
    for one in np.unique(stratum):
        here = stratum == one
        counts = np.unique(place[here], return_counts=True)[1]
        total += lgamma(here.sum() + 1) - sum(lgamma(count + 1) for count in counts)
        if (size[here] == size[here][0]).all():
            total -= sum(lgamma(count + 1) for count in np.unique(counts, return_counts=True)[1])
    return max(total, 0.0)
