# SPDX-License-Identifier: BSD-3-Clause
"""The grid of ranks that explains who sends messages to whom."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from perfield.analysis.grid_fit import grid_fit

FACE, EDGE, CORNER = 5000, 300, 20


def halo(dims, periodic=(), sizes=(0, FACE, EDGE, CORNER)):
    """Number of ranks and all pairs of a halo exchange. sizes : by the number of axes that two differ in."""
    n_ranks = int(np.prod(dims))
    places = np.stack(np.unravel_index(np.arange(n_ranks), dims, order="F"), axis=1)
    pairs = []
    for low, high in combinations(range(n_ranks), 2):
        apart = abs(places[low] - places[high])
        for axis in periodic:
            apart[axis] = min(apart[axis], dims[axis] - apart[axis])
        if apart.max() == 1 and sizes[apart.sum()]:
            pairs.append((low, high, sizes[apart.sum()]))
    low, high, amount = np.array(pairs).T
    return n_ranks, low, high, amount.astype(float)


@pytest.mark.parametrize(
    "dims", [(4,), (2, 2), (3, 2), (2, 3), (4, 4), (2, 2, 2), (3, 3, 3), (4, 3, 2), (2, 3, 4), (8, 2, 1)]
)
@pytest.mark.parametrize("sizes", [(0, FACE, 0, 0), (0, FACE, EDGE, CORNER)])
def test_a_halo_exchange_is_found_with_its_lengths_in_order(dims, sizes):
    found = grid_fit(*halo(dims, sizes=sizes))
    assert found.dims == tuple(length for length in dims if length > 1)
    assert not any(found.periodic)


def test_periodic_axes_are_found():
    found = grid_fit(*halo((4, 3, 5), periodic=(0, 2), sizes=(0, FACE, 0, 0)))
    assert (found.dims, found.periodic) == ((4, 3, 5), (True, False, True))


def test_an_axis_with_small_faces_is_an_axis():
    n_ranks, low, high, amount = halo((4, 4), sizes=(0, FACE, 0))
    amount[high - low == 4] /= 15
    assert grid_fit(n_ranks, low, high, amount).dims == (4, 4)


def test_the_share_of_bytes_between_neighbours_is_that_across_faces():
    n_ranks, low, high, amount = halo((2, 2, 2))
    assert grid_fit(n_ranks, low, high, amount).share == pytest.approx(
        12 * FACE / (12 * FACE + 12 * EDGE + 4 * CORNER)
    )


@pytest.mark.parametrize("n_ranks", [2, 5, 8])
def test_ranks_that_all_talk_alike_are_in_no_grid(n_ranks):
    low, high = np.array(list(combinations(range(n_ranks), 2))).T
    assert grid_fit(n_ranks, low, high, np.ones(len(low))) is None


def test_a_star_is_no_grid():
    assert grid_fit(9, np.zeros(8, int), np.arange(1, 9), np.ones(8)) is None


@pytest.mark.parametrize("n_ranks", [8, 16, 24])
def test_random_messages_are_no_grid(n_ranks):
    rng = np.random.default_rng(7)
    for _ in range(50):
        low, high = np.nonzero(np.triu(rng.random((n_ranks, n_ranks)) < 0.4, 1))
        assert grid_fit(n_ranks, low, high, rng.lognormal(9, 1, len(low))) is None
