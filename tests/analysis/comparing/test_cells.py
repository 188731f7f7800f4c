# SPDX-License-Identifier: BSD-3-Clause
"""Cells of one mesh found in another by their middles."""

from __future__ import annotations

import numpy as np

from perfield.analysis.comparing.cells import matching_cells


def grid(n: int = 5) -> np.ndarray:
    return np.stack(np.meshgrid(*[np.arange(n) + 0.5] * 3, indexing="ij"), axis=-1).reshape(-1, 3)


def test_cells_in_another_order_are_found():
    order = np.random.default_rng(1).permutation(125)
    assert matching_cells(grid()[order], grid()).tolist() == np.argsort(order).tolist()


def test_rounding_is_no_difference_but_a_moved_cell_is():
    moved = grid()
    moved[:, 0] += 1e-9
    moved[7] += [0.01, 0.0, 0.0]
    found = matching_cells(grid(), moved)
    assert found[7] == -1
    assert np.delete(found, 7).tolist() == np.delete(np.arange(125), 7).tolist()


def test_small_cells_beside_large_ones_are_distinguished():
    x = np.array([0.0, 1e-4, 2e-4, 10.0, 20.0])
    cells = np.stack([x, 0 * x, 0 * x], axis=1)
    assert matching_cells(cells[[0, 2, 3, 4]], cells).tolist() == [0, -1, 1, 2, 3]


def test_nothing_matches_an_empty_mesh():
    assert matching_cells(np.zeros((0, 3)), grid(1)).tolist() == [-1]
    assert matching_cells(grid(), np.zeros((0, 3))).tolist() == []
