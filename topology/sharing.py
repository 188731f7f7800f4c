# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks are unbound, and which have to share PUs, so that their times include scheduling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .placement import Placement


@dataclass(frozen=True)
class Sharing:
    """Ranks whose threads that compute are more than the PUs that they may run on.

    ranks : int64, these ranks, ascending; empty if every such thread can have a PU of its own.
    words : "4 ranks on 2 PUs, unbound: times include scheduling", or "".
    """

    ranks: np.ndarray
    words: str

    def with_switches(self, switches: np.ndarray | None, when: str = "") -> str:
        """The words with the number of involuntary switches of these ranks.

        switches : (n_ranks,), NaN where unknown; None if nobody counted. when : their time, as " in step 3".
        """
        seen = np.zeros(0) if switches is None else switches[self.ranks]
        seen = seen[np.isfinite(seen)]
        if not len(seen):
            return self.words
        total = int(seen.sum())
        return f"{self.words} ({total:,} involuntary {'switch' if total == 1 else 'switches'}{when})"


def chains(placement: Placement, rank: np.ndarray) -> np.ndarray:
    """Groups some placed ranks of each node whose spans of PUs overlap, directly or through others.

    Returns each rank's group, int64 (len(rank),); groups count from 0 by node, then from left to right.
    """
    group = np.zeros(len(rank), np.int64)
    if not len(rank):
        return group
    node = placement.node_id[rank].astype(np.int64)
    first, last = placement.first[rank].astype(np.int64), placement.last[rank].astype(np.int64)
    order = np.lexsort((rank, first, node))
    base = node * (int(last.max()) + 1)
    begin, reach = (base + first)[order], np.maximum.accumulate((base + last)[order])
    opens = np.ones(len(rank), bool)
    opens[1:] = begin[1:] >= reach[:-1]
    group[order] = np.cumsum(opens) - 1
    return group


def unbound(placement: Placement) -> np.ndarray:
    """Whether nothing ties a rank to a core, bool (n_ranks,).

    It may move between all PUs of its node, or between PUs that other ranks may use as well.
    """
    free = placement.movable.copy()
    if not free.any():
        return free
    rank = np.flatnonzero(free)
    whole = np.array([len(node.machine.pus) for node in placement.nodes] or [0])
    everywhere = placement.n_pus[rank] == whole[placement.node_id[rank]]
    placed = np.flatnonzero(placement.node_id >= 0)
    group = np.zeros(placement.n_ranks, np.int64)
    group[placed] = chains(placement, placed)
    with_others = np.bincount(group[placed], minlength=1)[group[rank]] > 1
    free[rank] = everywhere | with_others
    return free


def sharing(placement: Placement) -> Sharing:
    """Finds the ranks that have to share PUs."""
    known = np.flatnonzero(placement.n_pus > 0)
    tied = known[~placement.movable[known]]
    crowded = _crowded(placement, known)
    if len(tied) < len(known):
        crowded = np.union1d(crowded, _crowded(placement, tied))
    return Sharing(crowded, _words(placement, crowded))


def _crowded(placement: Placement, rank: np.ndarray) -> np.ndarray:
    """Those of some ranks whose chain, of several ranks, has fewer PUs than threads that compute."""
    if not len(rank):
        return rank
    group = chains(placement, rank)
    n_threads = np.bincount(group, placement.n_threads[rank])
    several = np.bincount(group) > 1
    return rank[(several & (n_threads > _n_pus(placement, rank, group)))[group]]


def _n_pus(placement: Placement, rank: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The number of different PUs that the ranks of each group may run on."""
    n_bindings = len(placement.bindings)
    pairs = np.unique(group * n_bindings + placement.binding[rank])
    sizes = np.array([len(binding) for binding in placement.bindings], np.int64)
    starts = np.cumsum(sizes) - sizes
    positions = np.concatenate(placement.bindings).astype(np.int64)
    binding, of_group = pairs % n_bindings, pairs // n_bindings
    length = sizes[binding]
    within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    pu = positions[np.repeat(starts[binding], length) + within]
    width = int(positions.max()) + 1
    different = np.unique(np.repeat(of_group, length) * width + pu)
    return np.bincount(different // width, minlength=int(group.max()) + 1)


def usable_pus(placement: Placement, rank: np.ndarray) -> int:
    """How many PUs the threads of some ranks that compute can use at once, at most; a rank whose PUs are not
    known counts as if each of its threads had one."""
    known = rank[placement.n_pus[rank] > 0]
    others = int(placement.n_threads[rank].sum() - placement.n_threads[known].sum())
    if not len(known):
        return others
    group = chains(placement, known)
    n_threads = np.bincount(group, placement.n_threads[known])
    return others + int(np.minimum(n_threads, _n_pus(placement, known, group)).sum())


def _words(placement: Placement, crowded: np.ndarray) -> str:
    if not len(crowded):
        return ""
    node = placement.node_id[crowded].astype(np.int64)
    n_ranks = np.bincount(node, minlength=len(placement.nodes))
    n_pus = _n_pus(placement, crowded, node)
    n_pus = np.append(n_pus, np.zeros(len(n_ranks) - len(n_pus), np.int64))
    n_threads = np.bincount(node, placement.n_threads[crowded], minlength=len(placement.nodes)).astype(int)
    nodes = np.flatnonzero(n_ranks)
    worst = nodes[np.argmax(n_ranks[nodes] / n_pus[nodes])]
    threads = f" with {n_threads[worst]} threads" if n_threads[worst] > n_ranks[worst] else ""
    count = f"{n_ranks[worst]} ranks{threads} on {n_pus[worst]} {'PU' if n_pus[worst] == 1 else 'PUs'}"
    alike = np.all(n_ranks[nodes] == n_ranks[worst]) and np.all(n_pus[nodes] == n_pus[worst])
    if len(nodes) > 1:
        count += f" on each of {len(nodes)} nodes" if alike else f" on {placement.nodes[worst].label}"
    free = unbound(placement)[crowded]
    bound = "unbound" if free.all() else "bound" if not free.any() else f"{free.sum()} of them unbound"
    others = "" if alike else f", and {len(nodes) - 1} more crowded {'node' if len(nodes) == 2 else 'nodes'}"
    return f"{count}{others}, {bound}: times include scheduling"
