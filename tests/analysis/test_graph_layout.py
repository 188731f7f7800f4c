# SPDX-License-Identifier: BSD-3-Clause
"""Ranks in the plane, by who talks to whom."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from perfield.analysis.graph_layout import APART, placed_by_messages


def grid(*shape, periodic=False):
    """Number of ranks, and both ends of all pairs of neighbours in a grid."""
    ranks = np.arange(np.prod(shape)).reshape(shape)
    first, second = [], []
    for axis, length in enumerate(shape):
        first.append(np.take(ranks, range(length - 1), axis).ravel())
        second.append(np.take(ranks, range(1, length), axis).ravel())
        if periodic:
            first.append(np.take(ranks, [length - 1], axis).ravel())
            second.append(np.take(ranks, [0], axis).ravel())
    return ranks.size, np.concatenate(first), np.concatenate(second)


def placed(n_ranks, first, second, amount=1e6):
    """Their places."""
    return placed_by_messages(n_ranks, first, second, np.broadcast_to(amount, np.shape(first)))


def lengths(places, first, second):
    """How far the ends of each pair are apart."""
    return np.linalg.norm(places[first] - places[second], axis=1)


def test_a_row_of_ranks_becomes_a_line_from_left_to_right():
    places = placed(*grid(6))
    assert np.allclose(np.diff(places[:, 0]), 1, atol=0.02)
    assert np.ptp(places[:, 1]) < 0.1


@pytest.mark.parametrize("shape", [(4, 4), (8, 6), (3, 9)])
def test_neighbours_of_a_grid_are_nearest_to_each_other(shape):
    n_ranks, first, second = grid(*shape)
    places = placed(n_ranks, first, second)
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    between = np.zeros((n_ranks, n_ranks), bool)
    between[first, second] = between[second, first] = True
    assert (between[np.arange(n_ranks), distances.argmin(axis=1)]).all()
    assert lengths(places, first, second).max() < distances[~between].min()


def test_a_ring_becomes_a_ring():
    places = placed(*grid(12, periodic=True))
    radius = np.linalg.norm(places - places.mean(axis=0), axis=1)
    assert radius.min() > 0.95 * radius.max()


@pytest.mark.parametrize(
    "graph",
    [
        grid(4, 4, 4),
        grid(6, 4, periodic=True),
        grid(40, 40),
        (10, *np.triu_indices(10, 1)),
        (30, np.zeros(29, int), np.arange(1, 30)),
    ],
    ids=["cube", "torus", "many", "all with all", "star"],
)
def test_no_two_ranks_are_in_one_place(graph):
    assert pdist(placed(*graph)).min() > 0.99 * APART


def test_the_same_messages_give_the_same_places_in_any_order():
    n_ranks, first, second = grid(5, 4)
    order = np.random.default_rng(1).permutation(len(first))
    places = placed(n_ranks, first, second)
    assert np.array_equal(places, placed(n_ranks, second[order], first[order]))


def test_a_small_gather_at_the_end_does_not_pull_all_ranks_to_one():
    n_ranks, first, second = grid(8)
    others = np.arange(1, n_ranks)
    amounts = np.concatenate([np.full(len(first), 1e6), np.full(len(others), 1e3)])
    with_gather = placed_by_messages(
        n_ranks, np.append(first, others), np.append(second, 0 * others), amounts
    )
    assert np.allclose(with_gather, placed(n_ranks, first, second))


def test_ranks_without_messages_have_no_place_and_separate_parts_do_not_overlap():
    places = placed(9, np.array([0, 1, 2, 5, 6, 3]), np.array([1, 2, 0, 6, 7, 3]))
    assert np.isnan(places[[3, 4, 8]]).all()
    assert places[[0, 1, 2], 0].max() < places[[5, 6, 7], 0].min()
