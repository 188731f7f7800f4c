# SPDX-License-Identifier: BSD-3-Clause
"""What explains an imbalance: the closing lines' rules, as Python sees them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from known_runs.runs_with_imbalance import write
from scipy.stats import binom

import perfield
from perfield import _bridge
from perfield.analysis.chance import differences
from perfield.analysis.explanation import (
    cost_of_cells,
    explanation,
    follow_counts,
    rank_waited_for,
    regions_to_report,
)
from perfield.report import report

RANDOM = np.random.default_rng(3)
CELLS = np.broadcast_to([512.0, 1024, 512, 512], (40, 4))


def noisy(costs) -> np.ndarray:
    """Times by step and rank, with noise of 2 %."""
    return np.array(costs, float) * np.exp(0.02 * RANDOM.standard_normal((40, len(costs))))


def test_the_cause_that_makes_the_imbalance_is_named_with_what_it_makes():
    compute = noisy([1, 2, 1, 1])
    ghosts = np.broadcast_to([10.0, 11, 10, 12], (40, 4))
    found = explanation(compute, differences(compute), {"ghosts": ghosts, "points": None, "cells": CELLS})
    assert found.cause == "cells" and found.imbalance == pytest.approx(1.6, abs=0.02)


def test_a_cause_that_is_not_known_everywhere_explains_nothing():
    compute = noisy([1, 2, 1, 1])
    cells = np.where(np.arange(40)[:, None] == 7, np.nan, CELLS)
    assert explanation(compute, differences(compute), {"cells": cells}).cause is None
    assert cost_of_cells(compute, differences(compute), cells) is None


def test_cells_on_costly_ranks_cost_more_where_their_number_is_equal():
    compute = noisy([1, 1, 3, 1])
    cost = cost_of_cells(compute, differences(compute), np.full((40, 4), 64.0))
    assert cost.are_alike and cost.costs_more and not cost.may_explain
    assert cost.relative == pytest.approx(3, abs=0.05) and cost.alone == 1


def test_two_ranks_are_too_few_to_test_what_cells_explain():
    compute = noisy([1, 2])
    found = differences(compute)
    assert explanation(compute, found, {"cells": CELLS[:, :2]}).cause is None
    assert cost_of_cells(compute, found, CELLS[:, :2]).may_explain


def test_tables_of_another_shape_are_refused():
    compute = noisy([1, 2, 1, 1])
    with pytest.raises(ValueError, match=r"a cause has the shape \(40, 3\); expected \(40, 4\)"):
        explanation(compute, differences(compute), {"cells": CELLS[:, :3]})


def test_cells_without_costly_ranks_are_refused():
    compute = noisy([1, 1, 1, 1])
    with pytest.raises(ValueError, match="most is empty"):
        cost_of_cells(compute, differences(compute), CELLS)


def test_costly_ranks_outside_the_table_are_refused():
    compute = noisy([1, 2, 1, 1])
    found = dataclasses.replace(differences(compute), most=(1, 4))
    with pytest.raises(ValueError, match="most names column 4; the table has 4"):
        explanation(compute, found, {"cells": CELLS})


def test_regions_without_their_shares_are_refused():
    with pytest.raises(ValueError, match="saved has 2 regions and share has 1"):
        regions_to_report([1.0, 2.0], [0.5], 10.0, 10.0)


def test_regions_worth_reporting_come_costliest_first_without_those_that_hold_all():
    assert regions_to_report([0.5, 3.0, 2.0, 4.0, 0.0], [0.1, 0.2, 0.3, 0.99, 0.1], 100.0, 50.0) == [1, 2]
    assert regions_to_report([4.0], [0.99], 100.0, 50.0) == [0]
    assert regions_to_report([4.0], [0.5], 100.0, 0.9) == []


def test_only_a_rank_that_stands_out_is_waited_for():
    waited = noisy([0.1, 0.1, 2, 0.1])
    assert rank_waited_for(waited, waited.sum(), waited.sum()) == 2
    assert rank_waited_for(noisy([1, 1, 1, 1]), 160.0, 160.0) is None


def test_little_waiting_that_names_a_rank_accuses_nobody():
    waited = noisy([0.1, 0.1, 2, 0.1])
    assert rank_waited_for(waited, waited.sum(), 6 * waited.sum()) is None


def test_chance_of_a_pattern_is_below_its_limit():
    assert 0 <= differences(noisy([1, 2, 1, 1])).chance < 1e-3
    assert differences(noisy([1, 1, 1, 1])).chance == 1


def followed(tables, counts):
    """In how many runs ranks follow the counts, or times alone name one."""
    found = [differences(table) for table in tables]
    by_counts = [follow_counts(table, one, {"cells": counts}) for table, one in zip(tables, found)]
    return sum(one.pattern == "fixed" for one in found), sum(one is not None for one in by_counts)


@pytest.mark.parametrize(("n_steps", "n_ranks"), [(5, 4), (10, 16), (60, 8)])
def test_noise_follows_no_counts(n_steps, n_ranks):
    random = np.random.default_rng(1)
    tables = np.exp(0.2 * random.standard_normal((1000, n_steps, n_ranks)))
    counts = np.broadcast_to(1 + 0.6 * random.random(n_ranks), (n_steps, n_ranks))
    assert followed(tables, counts)[1] <= binom.isf(1e-4, 1000, 5e-4)


@pytest.mark.parametrize(("n_ranks", "power"), [(4, 0.7), (8, 0.95), (16, 0.95)])
def test_counts_find_in_five_steps_with_much_noise_what_times_do_not(n_ranks, power):
    """Ranks have up to 1.8 times as many cells, and times 20 % noise."""
    counts = np.broadcast_to(np.linspace(1, 1.8, n_ranks), (5, n_ranks))
    tables = counts * np.exp(0.2 * np.random.default_rng(2).standard_normal((200, 5, n_ranks)))
    by_time, by_counts = followed(tables, counts)
    assert by_time < 100 and by_time + by_counts >= binom.ppf(1e-3, 200, power)


def test_ranks_that_follow_counts_only_a_little_are_not_reported():
    counts = np.broadcast_to(np.linspace(1, 1.8, 8), (200, 8))
    tables = (1 + 0.02 * counts) * np.exp(0.02 * np.random.default_rng(3).standard_normal((20, 200, 8)))
    assert followed(tables, counts) == (0, 0)


def test_counts_that_hardly_differ_are_not_asked():
    counts = np.broadcast_to(np.linspace(1, 1.04, 8), (40, 8))
    tables = counts**4 * np.exp(0.2 * np.random.default_rng(4).standard_normal((20, 40, 8)))
    assert followed(tables, counts)[1] == 0


def test_cells_that_times_follow_are_in_summary_and_finding(tmp_path):
    cells = [100, 160, 120, 180, 140, 110]
    compute = 1e6 * np.array(cells) * np.exp(0.2 * np.random.default_rng(6).standard_normal((5, 6)))
    assert differences(compute).pattern == "chance"
    path = write(tmp_path / "run", compute.tolist(), sizes=[cells])
    first, why, *_ = _bridge.summary_lines(str(path))
    found = report(perfield.open(path)).findings[0]
    assert first.endswith(": rank 3 is slowest") and why.startswith(
        "why        cell counts explain a factor of 1."
    )
    assert found.kind == "imbalance by cells" and found.ranks.tolist() == [3]
