# SPDX-License-Identifier: BSD-3-Clause
"""Proposes which rank should take which place, so that fewer bytes pass between switches and nodes.

KaHIP (https://github.com/KaHIP/KaHIP) divides the graph of messages, first among the switches, then among the
nodes of each switch, then among the packages of each node. It may miss the sizes of the parts by a little, so
surplus ranks then move to where they cost least, and pairs of ranks swap their places while that helps
(Kernighan and Lin, Bell System Technical Journal 49, 1970).

Ranks only swap the places that the run had: so a launcher can follow the order, and the prediction is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

NEEDS_KAHIP = "needs KaHIP to divide the graph of messages: pip install 'perfield[placement]'"
WORTHWHILE = 0.01  # a smaller gain is no reason to change the order
_PACKAGE_DISTANCE = 1e-3  # against 1 switch on the way: packages decide only between equal orders of nodes
_MOST_GAINS = 20_000_000  # (ranks x domains) held at once; beyond, pairs do not swap
_FEW_GAINS = 100_000
_MOST_PASSES = 500
_TRIED = 64  # ranks whose swaps with all others are looked at, per pass
_SEED = 1


@dataclass(frozen=True)
class Traffic:
    """Bytes that pass between places, over the whole run.

    total : between all pairs of ranks. between_nodes, between_packages : of these, between different nodes,
    and between different packages of one node. between_switches : between nodes on different switches, and
    hop_bytes : each byte times the switches that it passes; both None if the switches of a node are unknown.
    """

    total: float
    between_nodes: float
    between_packages: float
    between_switches: float | None
    hop_bytes: float | None


@dataclass(frozen=True)
class Places:
    """The places that the ranks hold now; the place of rank r is place r. Each takes one rank.

    node, package : int (n_ranks,), -1 where no package holds the place. switch : int (n_nodes,), -1 unknown.
    hops : (n_nodes, n_nodes), switches on the way between nodes, NaN where unknown.
    """

    node: np.ndarray
    package: np.ndarray
    switch: np.ndarray
    hops: np.ndarray

    @property
    def distance(self) -> np.ndarray:
        """(n_nodes, n_nodes) what a byte between nodes counts: its hops; 1 where any are unknown."""
        if np.isnan(self.hops).any():
            return 1.0 - np.eye(len(self.switch))
        return self.hops


@dataclass(frozen=True)
class Order:
    """A proposed order of ranks.

    place_of_rank : int64 (n_ranks,), the place of each rank, by the rank that holds it now.
    before, after : the traffic. better : False if no order was found that is worth the change; then
    place_of_rank is the present order.
    """

    place_of_rank: np.ndarray
    before: Traffic
    after: Traffic
    better: bool


def traffic(places: Places, place_of_rank: np.ndarray, messages: np.ndarray) -> Traffic:
    """What an order of ranks sends over the network.

    place_of_rank : int (n_ranks,). messages : structured array `source target bytes`; both ends are ranks.
    """
    from_place, to_place = place_of_rank[messages["source"]], place_of_rank[messages["target"]]
    size = messages["bytes"].astype(np.float64)
    from_node, to_node = places.node[from_place], places.node[to_place]
    apart = from_node != to_node
    packages = ~apart & (places.package[from_place] != places.package[to_place])
    hops = places.hops[from_node, to_node]
    known = not np.isnan(places.hops).any() and (places.switch >= 0).all()
    switches = places.switch[from_node] != places.switch[to_node]
    return Traffic(
        float(size.sum()),
        float(size[apart].sum()),
        float(size[packages].sum()),
        float(size[switches].sum()) if known else None,
        float((size * hops).sum()) if known else None,
    )


def propose(places: Places, messages: np.ndarray) -> Order:
    """The order of ranks with the least bytes over the network that was found; deterministic.

    messages : as in `traffic`. Both directions of a pair count alike.
    Raises ModuleNotFoundError with a remedy if KaHIP is missing.
    """
    n_ranks = len(places.node)
    present = np.arange(n_ranks)
    before = traffic(places, present, messages)
    graph = _graph(n_ranks, messages)
    domain_of_place, distance = _domains(places)
    cost = _cost(graph, domain_of_place, distance)
    best, least = domain_of_place, cost
    if graph.nnz and len(distance) > 1:
        divided = np.empty(n_ranks, np.int64)
        _divide(graph, present, present, _levels(places), domain_of_place, divided)
        # Swaps from a far worse order of many ranks are slow and come out worse.
        near = cost < 2 * _cost(graph, divided, distance) or n_ranks * len(distance) < _FEW_GAINS
        for start in (domain_of_place, divided) if near else (divided,):
            found = _swapped(graph, start, distance)
            if (found_cost := _cost(graph, found, distance)) < least:
                best, least = found, found_cost
    if cost - least < WORTHWHILE * cost or cost == least:
        return Order(present, before, before, False)
    order = _seats(best, domain_of_place)
    return Order(order, before, traffic(places, order, messages), True)


def _graph(n_ranks: int, messages: np.ndarray) -> csr_matrix:
    """Bytes between each pair of ranks in both directions together, symmetric, without a diagonal."""
    apart = messages["source"] != messages["target"]
    source, target = messages["source"][apart].astype(np.int64), messages["target"][apart].astype(np.int64)
    size = messages["bytes"][apart].astype(np.float64)
    one_way = csr_matrix((size, (source, target)), shape=(n_ranks, n_ranks))
    both = (one_way + one_way.T).tocsr()
    both.eliminate_zeros()
    both.sort_indices()
    return both


def _domains(places: Places) -> tuple[np.ndarray, np.ndarray]:
    """The domain (package of a node) of each place, and the distance of each pair of domains."""
    keys = np.stack([places.node, places.package], axis=1)
    domains, domain = np.unique(keys, axis=0, return_inverse=True)
    node = domains[:, 0]
    distance = places.distance[np.ix_(node, node)].astype(np.float64)
    distance[(node[:, None] == node) & (domains[:, 1][:, None] != domains[:, 1])] = _PACKAGE_DISTANCE
    return domain.ravel(), distance


def _levels(places: Places) -> list[np.ndarray]:
    """Labels of the places from the coarsest groups to the finest: nodes within few hops, nodes, packages."""
    levels = []
    if len(places.switch) > 1 and not np.isnan(places.hops).any():
        from scipy.sparse.csgraph import connected_components

        for reach in np.unique(places.hops)[-2:0:-1]:
            _, label = connected_components(csr_matrix(places.hops <= reach))
            levels.append(label[places.node])
    return [*levels, places.node, places.package]


def _divide(
    graph: csr_matrix,
    ranks: np.ndarray,
    free: np.ndarray,
    levels: list[np.ndarray],
    domain_of_place: np.ndarray,
    found: np.ndarray,
) -> None:
    """Gives some ranks the free places, as many as they are, and notes their domains in `found`."""
    while levels and len(np.unique(levels[0][free])) == 1:
        levels = levels[1:]
    if not levels:
        found[ranks] = domain_of_place[free]
        return
    labels, group = np.unique(levels[0][free], return_inverse=True)
    sizes = np.bincount(group, minlength=len(labels))
    part = _parts(graph[ranks][:, ranks].tocsr(), sizes)
    for number in range(len(labels)):
        _divide(graph, ranks[part == number], free[group == number], levels[1:], domain_of_place, found)


def _parts(graph: csr_matrix, sizes: np.ndarray) -> np.ndarray:
    """The part of each rank; part p has exactly sizes[p] ranks and few bytes leave it."""
    apart = 1.0 - np.eye(len(sizes))
    part = _by_kahip(graph, len(sizes)) if graph.nnz else np.repeat(np.arange(len(sizes)), sizes)
    largest = np.argsort(-np.bincount(part, minlength=len(sizes)), kind="stable")
    number = np.empty(len(sizes), np.int64)
    number[largest] = np.argsort(-sizes, kind="stable")
    return _swapped(graph, _fitted(graph, number[part], sizes), apart)


def _by_kahip(graph: csr_matrix, n_parts: int) -> np.ndarray:
    try:
        import kahip
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"the proposal of an order {NEEDS_KAHIP}") from None
    weights = np.maximum(1, graph.data * (2**29 / graph.data.sum())).astype(
        np.int64
    )  # they sum up in 32 bits
    graph.sort_indices()
    arguments = ([1] * graph.shape[0], graph.indptr.tolist(), weights.tolist(), graph.indices.tolist())
    _, part = kahip.kaffpa(*arguments, n_parts, 0.03, True, _SEED, kahip.ECO)
    return np.asarray(part, np.int64)


def _fitted(graph: csr_matrix, part: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Moves ranks out of parts that are too large, those first that lose least."""
    part = part.copy()
    surplus = np.bincount(part, minlength=len(sizes)) - sizes
    for giver in np.flatnonzero(surplus > 0):
        while surplus[giver] > 0:
            members = np.flatnonzero(part == giver)
            takers = np.flatnonzero(surplus < 0)
            ties = graph[members]
            shares = _sums(ties, part, len(sizes))
            gain = shares[:, takers] - shares[:, [giver]]
            best = gain.max(axis=1)
            rank = members[best.argmax()]
            taker = takers[gain[best.argmax()].argmax()]
            part[rank] = taker
            surplus[giver] -= 1
            surplus[taker] += 1
    return part


def _sums(ties: csr_matrix, part: np.ndarray, n_parts: int) -> np.ndarray:
    """(rows of ties, n_parts) the weight of each row's ties to each part."""
    indicator = csr_matrix((np.ones(len(part)), (np.arange(len(part)), part)), shape=(len(part), n_parts))
    return (ties @ indicator).toarray()


def _cost(graph: csr_matrix, domain: np.ndarray, distance: np.ndarray) -> float:
    """Bytes times distance, over all pairs."""
    pairs = graph.tocoo()
    return float((pairs.data * distance[domain[pairs.row], domain[pairs.col]]).sum()) / 2


def _swapped(graph: csr_matrix, start: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Swaps the domains of pairs of ranks, those that gain most first, while a pair gains anything."""
    n_ranks, n_domains = len(start), len(distance)
    if n_ranks * n_domains > _MOST_GAINS or n_domains < 2 or not graph.nnz:
        return start
    domain = start.copy()
    to_each = _sums(graph, domain, n_domains) @ distance  # cost of each rank in each domain
    least = 1e-9 * float(graph.data.sum()) * float(distance.max())
    for _ in range(_MOST_PASSES):
        swapped = False
        for one, other in _promising(graph, domain, to_each, distance):
            from_one, to_one = domain[one], domain[other]
            gain = to_each[one, from_one] - to_each[one, to_one]
            gain += to_each[other, to_one] - to_each[other, from_one]
            if gain - 2 * graph[one, other] * distance[from_one, to_one] <= least:
                continue
            swapped = True
            for rank, old, new in ((one, from_one, to_one), (other, to_one, from_one)):
                ties = slice(graph.indptr[rank], graph.indptr[rank + 1])
                to_each[graph.indices[ties]] += graph.data[ties, None] * (distance[new] - distance[old])
                domain[rank] = new
        if not swapped:
            break
    return domain


def _promising(
    graph: csr_matrix, domain: np.ndarray, to_each: np.ndarray, distance: np.ndarray
) -> list[tuple[int, int]]:
    """Pairs of ranks whose swap gains most in the current order, the best first."""
    every, n_domains = np.arange(len(domain)), len(distance)
    change = to_each - to_each[every, domain][:, None]  # below 0: cheaper there
    by_domain = np.argsort(domain, kind="stable")
    first = np.searchsorted(domain[by_domain], np.arange(n_domains))
    partner = np.minimum.reduceat(change[by_domain], first, axis=0)  # of those in [i], the best to go to [j]
    hoped = (change + partner.T[domain]).min(axis=1)
    tried = np.argsort(hoped, kind="stable")[:_TRIED]
    both = change[tried][:, domain] + change[:, domain[tried]].T
    both += 2 * graph[tried].toarray() * distance[np.ix_(domain[tried], domain)]
    both[domain[tried][:, None] == domain] = np.inf
    best = both.argmin(axis=1)
    gains = both[np.arange(len(tried)), best]
    order = np.argsort(gains, kind="stable")
    return [(int(tried[row]), int(best[row])) for row in order if gains[row] < 0]


def _seats(domain: np.ndarray, domain_of_place: np.ndarray) -> np.ndarray:
    """A place of its domain for each rank: its present one if that is there, else the next free one."""
    order = np.where(domain == domain_of_place, np.arange(len(domain)), -1)
    homeless = np.flatnonzero(order < 0)
    free = np.setdiff1d(np.arange(len(domain)), order)
    order[homeless[np.argsort(domain[homeless], kind="stable")]] = free[
        np.argsort(domain_of_place[free], kind="stable")
    ]
    return order
