# SPDX-License-Identifier: BSD-3-Clause
"""Costs per cell: from times and cells, as whole numbers, and how balanced they leave ranks."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.analysis.cell_costs import (
    LARGEST_SUM,
    CellCosts,
    cost_per_cell,
    filled,
    imbalance,
    whole_weights,
)


def test_cost_is_all_compute_time_over_all_cells_of_the_steps():
    compute_s = np.array([[1.0, 2.0], [5.0, 2.0]])
    cells = np.array([[10.0, 4.0], [20.0, 4.0]])  # the mesh of rank 0 is refined
    assert cost_per_cell(compute_s, cells).tolist() == [6 / 30, 0.5]


def test_steps_without_a_measurement_do_not_count():
    compute_s = np.array([[1.0, np.nan], [np.nan, np.nan]])
    costs = cost_per_cell(compute_s, np.full((2, 2), 10.0))
    assert costs[0] == 0.1 and np.isnan(costs[1])


def test_ranks_without_cells_have_no_cost():
    assert np.isnan(cost_per_cell(np.ones((3, 1)), np.zeros((3, 1)))).all()


def test_unmeasured_cells_cost_the_mean_of_measured_cells():
    assert filled(np.array([1.0, np.nan, 4.0]), np.array([30, 5, 10])).tolist() == [1.0, 70 / 40, 4.0]


def test_costs_of_no_cell_at_all_are_refused():
    with pytest.raises(ValueError, match="no cell has a measured cost; expected a rank with cells"):
        filled(np.array([np.nan, 2.0]), np.array([3, 0]))


def test_whole_weights_keep_ratios_and_say_their_unit():
    costs = np.array([1e-6, 2e-6, 4.5e-6])
    weights, unit_s = whole_weights(costs, np.array([100, 100, 100]))
    assert weights * unit_s == pytest.approx(costs, rel=2e-3)  # a thousandth of the mean is the unit
    assert weights.dtype == np.int64


def test_sum_of_weights_of_a_large_mesh_fits_32_bits():
    n_cells = np.array([10**7, 3 * 10**7])
    weights, _ = whole_weights(np.array([1e-6, 3e-6]), n_cells)
    assert (weights * n_cells).sum() <= 1.1 * LARGEST_SUM < 2**31
    assert weights[1] / weights[0] == pytest.approx(3, rel=0.05)


def test_free_cells_weigh_one():
    assert whole_weights(np.array([0.0, 1.0]), np.array([1, 1]))[0].tolist() == [1, 2000]
    assert whole_weights(np.zeros(2), np.array([1, 1]))[0].tolist() == [1, 1]


def test_load_of_ranks_adds_up_their_parts():
    costs = CellCosts(
        rank=np.array([0, 0, 2]),
        block=np.array([0, 1, 0]),
        n_cells=np.array([2, 3, 1]),
        cost_s=np.array([1.0, 2.0, 4.0]),
        measured=np.ones(3, bool),
        n_ranks=3,
        n_steps=1,
    )
    assert costs.load_s.tolist() == [8.0, 0.0, 4.0]
    assert costs.cells_of_rank.tolist() == [5, 0, 1]
    assert costs.of_cells.tolist() == [1, 1, 2, 2, 2, 4]
    assert imbalance(costs.load_s) == 2.0


def test_nothing_loaded_is_balanced():
    assert imbalance(np.zeros(4)) == 1.0
