# SPDX-License-Identifier: BSD-3-Clause
"""Places ranks in the plane by who talks to whom: springs between all pairs, as long as the way between them.

Kamada and Kawai, Information Processing Letters 31 (1989) 7; the sum of the springs' energies falls in each
step of majorisation (Gansner, Koren and North, Graph Drawing 2004). It starts from the distances' own axes
(Brandes and Pich, Graph Drawing 2006), so that the same graph always looks the same.
"""

from __future__ import annotations

import numpy as np

LEAST_SHARE = 0.05  # of the most that either end exchanges with anyone; less does not pull
APART = 0.9  # smallest distance of two ranks; neighbours are about 1 apart
MOST_SPRINGS = 1500  # ranks with springs between all pairs; with more, each stays where the axes put it
PIVOTS = 60  # ranks from which distances are taken to find the axes
ITERATIONS = 100
GAP = 1.5  # between parts of the graph that exchange nothing


def placed_by_messages(
    n_ranks: int, source: np.ndarray, target: np.ndarray, amount: np.ndarray
) -> np.ndarray:
    """Places (n_ranks, 2) of ranks, the neighbours about 1 apart; NaN for a rank without messages.

    source, target : (n_pairs,) ranks. amount : (n_pairs,) >= 0, of bytes, say; both directions add up. Pairs
    with less than LEAST_SHARE of what each of their ends exchanges with its main partner do not count: a
    gather at the end would pull all ranks to one. Parts without messages between them lie side by side.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second, _ = main_pairs(n_ranks, source, target, amount)
    ones = np.ones(len(first))
    graph = coo_array((ones, (first, second)), shape=(n_ranks, n_ranks)).tocsr()
    graph = graph + graph.T
    places = np.full((n_ranks, 2), np.nan)
    talks = np.asarray(graph.sum(axis=1)).ravel() > 0
    _, part = connected_components(graph, directed=False)
    right = 0.0
    parts = [np.flatnonzero(part == number) for number in np.unique(part[talks])]
    for ranks in sorted(parts, key=lambda some: (-len(some), some[0])):
        here = _apart(_laid_out(graph[ranks][:, ranks]))
        here = _turned(here)
        places[ranks] = here - here.min(axis=0) + [right, 0.0]
        right += np.ptp(here[:, 0]) + GAP
    return places


def main_pairs(
    n_ranks: int, source: np.ndarray, target: np.ndarray, amount: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs that count, each once, the lower rank first, and what they exchange, plus 1."""
    low, high = np.minimum(source, target).astype(np.int64), np.maximum(source, target).astype(np.int64)
    keys, place = np.unique(low * n_ranks + high, return_inverse=True)
    sums = np.bincount(place.ravel(), np.asarray(amount, dtype=float) + 1.0, len(keys))
    low, high = keys // n_ranks, keys % n_ranks
    apart = low != high
    low, high, sums = low[apart], high[apart], sums[apart]
    most = np.zeros(n_ranks)
    np.maximum.at(most, low, sums)
    np.maximum.at(most, high, sums)
    pulls = sums >= LEAST_SHARE * np.minimum(most[low], most[high])
    return low[pulls], high[pulls], sums[pulls]


def _laid_out(graph: object) -> np.ndarray:
    """Places (n, 2) of one connected part."""
    from scipy.sparse.csgraph import shortest_path
    from scipy.spatial.distance import cdist

    n = graph.shape[0]
    pivots = np.unique(np.linspace(0, n - 1, min(n, PIVOTS)).astype(int))
    places = _axes(shortest_path(graph, unweighted=True, directed=False, indices=pivots))
    if n > MOST_SPRINGS:
        return places
    wanted = shortest_path(graph, unweighted=True, directed=False)
    weight = np.divide(1.0, wanted**2, out=np.zeros_like(wanted), where=wanted > 0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    solve = np.linalg.pinv(laplacian)
    for _ in range(ITERATIONS):
        apart = cdist(places, places)
        pull = np.divide(weight * wanted, apart, out=np.zeros_like(apart), where=apart > 1e-9)
        moved = solve @ (pull.sum(axis=1)[:, None] * places - pull @ places)
        if np.abs(moved - places).max() < 1e-4:
            return moved
        places = moved
    return places


def _axes(distances: np.ndarray) -> np.ndarray:
    """Places (n, 2) on the two main axes of distances (n_pivots, n).

    A little of the ranks' order is in them, as ranks with the same neighbours would share one place.
    """
    squares = distances.T**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes *= np.where(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    places = np.zeros((len(squares), 2))
    found = centred @ axes[:2].T
    size = np.abs(found).max(initial=0.0)
    places[:, : found.shape[1]] = found * (distances.max() / 2 / size if size > 0 else 0.0)
    turn = np.arange(len(places)) * 2.399963  # the golden angle
    return places + 0.01 * np.sqrt(np.arange(len(places)))[:, None] * np.stack(
        [np.cos(turn), np.sin(turn)], axis=1
    )


def _apart(places: np.ndarray) -> np.ndarray:
    """The places, with those that are closer than APART moved away from one another."""
    from scipy.spatial import cKDTree

    places = places.copy()
    for _ in range(3 * ITERATIONS):
        close = cKDTree(places).query_pairs(APART, output_type="ndarray")
        if not len(close):
            break
        way = places[close[:, 1]] - places[close[:, 0]]
        length = np.linalg.norm(way, axis=1)
        turn = close[:, 1] * 2.399963
        way[length < 1e-9] = np.stack([np.cos(turn), np.sin(turn)], axis=1)[length < 1e-9]
        step = way / np.maximum(length, 1e-9)[:, None] * ((APART - length) / 2 + 1e-3)[:, None]
        np.add.at(places, close[:, 0], -step)
        np.add.at(places, close[:, 1], step)
    return places


def _turned(places: np.ndarray) -> np.ndarray:
    """The longest axis across, and low ranks on the left and at the bottom."""
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    found = centred @ axes.T
    if found.shape[1] < 2:
        found = np.hstack([found, np.zeros((len(found), 1))])
    order = np.arange(len(found)) - (len(found) - 1) / 2
    return found * np.where(order @ found < 0, -1.0, 1.0)
