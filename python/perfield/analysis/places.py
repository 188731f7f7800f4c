# SPDX-License-Identifier: BSD-3-Clause
"""Whether ranks compute longer for where they sit: on a slow node, or beside each other in the mesh.

The tests use no random numbers, so the same run always gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np

from perfield.analysis.chance import chance_of_hits
from perfield.analysis.distributions import chance_of_larger_mean, normal_tail
from perfield.analysis.imbalance import Imbalance, compute_time_in
from perfield.analysis.observed import Observed

CHANCE = 0.001  # of one false place per run, as for names of ranks
SLOWER = 1.05  # than other nodes; less is not reported
APART = 0.95  # of all pairs of a slow node's rank and another: so many must differ in that direction
EXACT = 1e-6  # the least deviation between ranks, relative; what is measured is no more exact
OF_COMPUTE = 0.05  # a region of this share of the compute time must be slower, too
AS_MUCH = 0.8  # of the moves of the slowest rank must be to a piece that touches
FEWEST_PIECES = 8  # whose likeness to their neighbours can be tested


@dataclass(frozen=True)
class SlowNodes:
    """Nodes all of whose ranks compute longer. nodes : their numbers. columns : of their ranks.

    ratio : compute time there, over that elsewhere. by_cell : of compute time per cell. switch : the switch
    whose nodes they all are; None. chance : that they are slow by chance.
    """

    nodes: np.ndarray
    columns: np.ndarray
    ratio: float
    by_cell: bool
    switch: int | None
    chance: float


@dataclass(frozen=True)
class Likeness:
    """Whether neighbours in the mesh are alike. moran : Moran's I, 0 as by chance, 1 where they are equal.
    chance : of so much likeness."""

    moran: float
    chance: float


def slow_nodes(observed: Observed, compute: np.ndarray) -> SlowNodes | None:
    """The nodes on which every rank computes longer, if they are half of all nodes at most.

    compute : compute time (n_rows, n_columns), s. The test is Student's t over ranks, for the slowest set of
    nodes of each size, divided by the number of such sets.
    """
    if observed.placement is None:
        return None
    node = observed.placement.node_id[observed.ranks]
    nodes, sizes = np.unique(node[node >= 0], return_counts=True)
    if len(nodes) < 2 or sizes.min() < 2:
        return None
    cost, by_cell = _cost(observed, compute, node)
    if cost is None:
        return None
    best = min(_sets_of_nodes(cost, node, nodes), key=lambda one: one.chance)
    slow, others = np.exp(cost[best.columns]), np.exp(np.delete(cost, best.columns))
    if best.chance > CHANCE or best.ratio < SLOWER or (slow[:, None] > others).mean() < APART:
        return None
    if _share_pus(observed, best.nodes) or not _everywhere(observed, compute, best):
        return None
    return SlowNodes(
        best.nodes, best.columns, best.ratio, by_cell, _switch_of(observed, best.nodes), best.chance
    )


def _cost(observed: Observed, compute: np.ndarray, node: np.ndarray) -> tuple[np.ndarray | None, bool]:
    """Logarithm of each rank's compute time, or of that per cell, whichever differs less inside nodes."""
    times = compute.sum(axis=0)
    cells = _cells(observed)
    found: list[tuple[float, np.ndarray, bool]] = []
    for count, by_cell in ((np.ones_like(times), False), (cells, True)):
        if not ((times > 0).all() and (count > 0).all()):
            continue
        cost = np.log(times / count)
        inside = [cost[node == one].var() * (node == one).sum() for one in np.unique(node)]
        found.append((float(np.sum(inside)), cost, by_cell))
    if not found:
        return None, False
    _, cost, by_cell = min(found, key=lambda one: one[0])
    return cost, by_cell


def _sets_of_nodes(cost: np.ndarray, node: np.ndarray, nodes: np.ndarray) -> Iterator[SlowNodes]:
    """For each number of nodes, those that are slowest."""
    order = nodes[np.argsort([-cost[node == one].mean() for one in nodes])]
    for size in range(1, len(nodes) // 2 + 1):
        is_slow = np.isin(node, order[:size])
        chance = chance_of_larger_mean(cost[is_slow], cost[~is_slow], EXACT)
        ratio = float(np.exp(cost[is_slow].mean() - cost[~is_slow].mean()))
        tried = 2 * comb(len(nodes), size)  # with cells, and without
        chance = min(1.0, chance * tried)
        yield SlowNodes(np.sort(order[:size]), np.flatnonzero(is_slow), ratio, False, None, chance)


def _share_pus(observed: Observed, nodes: np.ndarray) -> bool:
    """Whether more ranks share a PU on these nodes than on others, which another finding reports."""
    placement = observed.placement
    assert placement is not None
    slow, others = [], []
    for one in np.unique(placement.node_id[placement.node_id >= 0]):
        bindings = placement.binding[placement.node_id == one]
        pus = np.unique(np.concatenate([placement.bindings[number] for number in np.unique(bindings)]))
        (slow if one in nodes else others).append(max(1.0, len(bindings) / max(1, len(pus))))
    return max(slow) > min(others, default=1.0)


def _everywhere(observed: Observed, compute: np.ndarray, slow: SlowNodes) -> bool:
    """Whether all regions with much computation take longer there: else it is the work that differs."""
    enough = OF_COMPUTE * compute.sum()
    for stem in observed.of_regions("<region>_time_s"):
        times = compute_time_in(observed, stem).sum(axis=0)
        others = np.delete(times, slow.columns).mean()
        if times.sum() >= enough and times[slow.columns].mean() < (1 + slow.ratio) / 2 * others:
            return False
    return True


def _switch_of(observed: Observed, nodes: np.ndarray) -> int | None:
    """The switch that has all these nodes of the run and no others, if there are several of both."""
    assert observed.placement is not None
    of_node = np.asarray(observed.placement.switches.of_node)
    switches = np.unique(of_node[nodes])
    if len(switches) != 1 or switches[0] < 0 or len(nodes) < 2 or len(np.unique(of_node[of_node >= 0])) < 2:
        return None
    return int(switches[0]) if (of_node == switches[0]).sum() == len(nodes) else None


def is_of_slow_nodes(observed: Observed, imbalance: Imbalance) -> bool:
    """Whether the slowest ranks of an imbalance are all on slow nodes, and sizes of pieces do not explain
    it."""
    if imbalance.explained.cause or not imbalance.found.names_ranks:
        return False
    slow = slow_nodes(observed, np.nan_to_num(observed.of("compute_time_s")))
    return slow is not None and bool(np.isin(imbalance.columns, slow.columns).all())


def likeness_in_mesh(observed: Observed, values: np.ndarray) -> Likeness | None:
    """Whether ranks whose pieces of the mesh touch have like values: Moran's I, with the chance of so much
    under randomisation (Cliff and Ord, Spatial Processes, 1981, equations 1.44 and 2.22).

    values : float64 (n_columns,). None without neighbours, or where fewer than 8 ranks have any.
    """
    if observed.neighbours is None or len(observed.neighbours) == 0:
        return None
    column = np.full(observed.n_ranks, -1)
    column[observed.ranks] = np.arange(len(observed.ranks))
    pairs = column[np.unique(observed.neighbours, axis=0)]
    pairs = pairs[(pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])]
    n = len(values)
    if len(np.unique(pairs)) < max(FEWEST_PIECES, n // 2) or not np.isfinite(values).all():
        return None
    z = values - values.mean()
    squares = (z**2).mean()
    if squares <= 0:
        return None
    s0 = float(len(pairs))
    moran = float((z[pairs[:, 0]] * z[pairs[:, 1]]).sum() / s0 / squares)
    s1 = 2 * s0  # both directions are pairs, each of weight 1
    degree = np.bincount(pairs[:, 0], minlength=n)
    s2 = float((4 * degree.astype(float) ** 2).sum())
    kurtosis = (z**4).mean() / squares**2
    mean = -1 / (n - 1)
    above = n * ((n**2 - 3 * n + 3) * s1 - n * s2 + 3 * s0**2) - kurtosis * (
        (n**2 - n) * s1 - 2 * n * s2 + 6 * s0**2
    )
    variance = above / ((n - 1) * (n - 2) * (n - 3) * s0**2) - mean**2
    if variance <= 0:
        return None
    return Likeness(moran, normal_tail(float((moran - mean) / np.sqrt(variance))))


def cost_of_ranks(observed: Observed, compute: np.ndarray) -> np.ndarray:
    """Compute time of each rank, per cell where cells are known: float64 (n_columns,)."""
    times = compute.sum(axis=0)
    cells = _cells(observed)
    return times / cells if (cells > 0).all() else times


def _cells(observed: Observed) -> np.ndarray:
    """Mean number of cells of each rank, float64 (n_columns,); zeros if some rank does not know its own."""
    cells = observed.of("cells").astype(float)
    return cells.mean(axis=0) if np.isfinite(cells).all() else np.zeros(len(observed.ranks))


def moves_to_neighbours(observed: Observed, slowest: np.ndarray) -> bool:
    """Whether the slowest rank moves to one whose piece touches its own, more often than by chance.

    slowest : columns, step by step.
    """
    if observed.neighbours is None or not len(observed.neighbours):
        return False
    n = len(observed.ranks)
    touch = {(int(a), int(b)) for a, b in observed.neighbours}
    ranks = observed.ranks[slowest].tolist()
    moves = [(a, b) for a, b in zip(ranks, ranks[1:]) if a != b]
    hits = sum(move in touch for move in moves)
    if hits < AS_MUCH * len(moves):
        return False
    return chance_of_hits(hits, len(moves), min(1.0, len(touch) / (n * (n - 1)))) <= CHANCE
