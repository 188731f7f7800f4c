# SPDX-License-Identifier: BSD-3-Clause
"""Findings about computing in runs that lack something: they say less, and never fail."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from known_runs.observed_runs import observed_run, plain_placement

from perfield.analysis.findings import imbalance, imbalance_place, slow_nodes, time_per_call, waited_for

MODULES = (imbalance, imbalance_place, slow_nodes, time_per_call, waited_for)
COSTLY = np.array([0.1, 0.1, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1])


def found_in(run) -> list:
    """All findings about computing."""
    return [finding for module in MODULES for finding in module.find(run)]


@pytest.mark.parametrize("options", [{"n_ranks": 1}, {"n_steps": 1}, {"n_ranks": 1, "n_steps": 1}])
def test_one_rank_or_one_step_finds_nothing(options):
    assert not found_in(observed_run(**options, regions=["solve"], solve_time_s=0.05, solve_count=7.0))


def test_a_run_without_steps_finds_nothing():
    run = observed_run(n_steps=1, regions=["solve"], solve_time_s=0.05, cells=5.0)
    empty = {name: table[:0] for name, table in run.tables.items()}
    none = np.zeros(0, np.int64)
    assert not found_in(dataclasses.replace(run, tables=empty, index=none, label=none, row=none))


def test_cells_that_appear_late_explain_nothing_and_hide_nothing():
    cells = np.where(np.arange(60)[:, None] < 5, np.nan, 512 * COSTLY)
    (found,) = found_in(
        observed_run(compute_time_s=np.tile(COSTLY, (60, 1)), cells=cells, placement=plain_placement())
    )
    assert found.kind == "imbalance" and found.ranks.tolist() == [2]


def test_a_rank_without_cells_of_its_own_is_no_error():
    cells = np.where(np.arange(8) == 5, np.nan, 512.0)
    run = observed_run(
        compute_time_s=np.tile(COSTLY, (60, 1)),
        cells=cells,
        placement=plain_placement(),
        neighbours=[(0, 1), (1, 2)],
    )
    (found,) = found_in(run)
    assert found.ranks.tolist() == [2]


def test_a_rank_that_never_computes_is_no_error():
    compute = np.tile(np.where(np.arange(8) == 7, 0, COSTLY), (60, 1))
    (found,) = found_in(observed_run(compute_time_s=compute, placement=plain_placement()))
    assert found.ranks.tolist() == [2]


def test_ranks_of_one_group_only_keep_their_numbers():
    """Columns are not ranks where a group of ranks steps apart."""
    run = observed_run(compute_time_s=np.tile(COSTLY, (60, 1)), placement=plain_placement(16))
    (found,) = found_in(dataclasses.replace(run, n_ranks=16, ranks=np.arange(8, 16)))
    assert found.ranks.tolist() == [10] and found.hosts == ("n3",)
