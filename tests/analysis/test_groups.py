# SPDX-License-Identifier: BSD-3-Clause
"""Size and power of the test for groups of ranks, by simulated runs with fixed seeds."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from known_runs.observed_runs import boxes_of_grid, observed_run, plain_placement
from scipy.stats import binom

from perfield.analysis.groups import group_of, visible_excess

SIZE, POWER = 0.001, 0.95
GRIDS = {16: (4, 4), 48: (6, 8)}


@cache
def seen(n_ranks, n_steps=10):
    """A run whose mesh and machine are known; its times are given apart."""
    placement = plain_placement(n_ranks, per_node=8)
    return observed_run(n_ranks, n_steps, boxes=boxes_of_grid(*GRIDS[n_ranks]), placement=placement)


def times(kind, n_runs, n_steps, n_ranks, spread=0.2, seed=1):
    """Compute times of ranks without a group, (n_runs, n_steps, n_ranks)."""
    random = np.random.default_rng(seed)
    noise = random.standard_normal((n_runs, n_steps, n_ranks))
    if kind == "lasting":
        for step in range(1, n_steps):
            noise[:, step] = 0.95 * noise[:, step - 1] + np.sqrt(1 - 0.95**2) * noise[:, step]
    values = np.exp(spread * noise)
    if kind == "tails":
        values = 1 + spread * random.standard_exponential(noise.shape)
    if kind == "uneven":  # ranks differ anyway, in two kinds
        values *= 1 + 0.2 * (random.random((n_runs, 1, n_ranks)) < 0.3)
    if kind == "interruptions":
        values += 10 * (random.random(noise.shape) < 0.05)
    return values


def n_found(run, tables, words=None):
    found = [group_of(run, table) for table in tables]
    return sum(one is not None and (words is None or words in one.words) for one in found)


@pytest.mark.parametrize("kind", ["clean", "lasting", "tails", "uneven", "interruptions"])
@pytest.mark.parametrize("n_ranks", [16, 48])
def test_ranks_without_a_group_make_none(kind, n_ranks):
    n_runs = 300
    n_false = n_found(seen(n_ranks), times(kind, n_runs, 10, n_ranks))
    assert n_false <= binom.isf(1e-4, n_runs, SIZE)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["clean", "lasting", "tails", "uneven", "interruptions"])
@pytest.mark.parametrize(("n_ranks", "n_steps"), [(16, 10), (48, 40)])
def test_false_groups_are_below_the_level_in_many_runs(kind, n_ranks, n_steps):
    n_runs = 10_000
    n_false = n_found(seen(n_ranks, n_steps), times(kind, n_runs, n_steps, n_ranks, seed=2))
    assert n_false <= binom.isf(1e-3, n_runs, SIZE)


@pytest.mark.parametrize(("slower", "spread"), [(1.2, 0.05), (1.5, 0.2)])
@pytest.mark.parametrize(
    ("n_ranks", "members", "words"),
    [
        (48, np.arange(48) % 6 == 0, "8 ranks at the low end of x"),
        (48, np.arange(48) // 6 == 7, "6 ranks at the high end of y"),
        (16, (np.arange(16) % 4 + np.arange(16) // 4) % 2 == 1, "8 ranks of one colour of a checkerboard"),
    ],
)
def test_planted_group_is_found_in_ten_steps(slower, spread, n_ranks, members, words):
    tables = times("clean", 100, 10, n_ranks, spread)
    tables[:, :, members] *= slower
    assert n_found(seen(n_ranks), tables, words) >= binom.ppf(1e-3, 100, POWER)


@pytest.mark.parametrize("n_steps", [5, 10, 40])
def test_group_of_the_size_that_is_called_visible_is_found(n_steps):
    tables = times("clean", 100, n_steps, 48, 0.1)
    run = seen(48, n_steps)
    for table in tables:
        table[:, ::6] *= 1 + max(visible_excess(run, table), 0.05)
    assert n_found(run, tables, "8 ranks at the low end of x") >= binom.ppf(1e-3, 100, POWER)


def test_few_ranks_make_no_group_visible():
    assert visible_excess(observed_run(8), times("clean", 1, 10, 8)[0]) == np.inf


def test_first_name_of_a_set_of_ranks_is_used_once():
    """The low end of x is also every sixth rank."""
    table = times("clean", 1, 10, 48, 0.02)[0]
    table[:, ::6] *= 1.5
    found = group_of(seen(48), table)
    assert (found.kind, found.words) == ("mesh", "8 ranks at the low end of x")
    assert found.columns.tolist() == list(range(0, 48, 6)) and found.n_longer == 10
    assert found.times == pytest.approx(1.5, rel=0.03) and found.chance < 1e-6
