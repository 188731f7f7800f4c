# SPDX-License-Identifier: BSD-3-Clause
"""Slow phases of the machine are found with place and cost; noise and the program's own phases are not."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.observed_runs import observed_run, placement_at, plain_placement

from perfield.analysis.findings import QUESTIONS, answers, ranked
from perfield.studies.regimes.finding import CHANCE, find, levels

STEP_S = 0.1
PHASES = ((50, 90), (200, 260), (380, 420))  # 140 of 600 steps


def in_phases(n_steps=600, phases=PHASES):
    """Whether each step is in a slow phase, as a column."""
    step = np.arange(n_steps)
    return np.any([(step >= begin) & (step < end) for begin, end in phases], axis=0)[:, np.newaxis]


def noisy(shape, seed=0, noise=0.02):
    return STEP_S * (1 + noise * np.random.default_rng(seed).standard_normal(shape))


def slow_node(n_ranks=16, slow=range(4, 8), phases=PHASES, **options):
    """A run of 600 steps, four ranks on a node, some of which compute twice as long in slow phases."""
    compute = noisy((600, n_ranks))
    compute[:, list(slow)] *= 1 + in_phases(phases=phases)
    return observed_run(
        n_ranks, 600, compute_time_s=compute, **{"placement": plain_placement(n_ranks), **options}
    )


def test_slow_phases_of_a_node_are_reported_with_place_and_cost():
    (found,) = find(slow_node())
    assert found.kind == "slow regime"
    assert found.words == (
        "The run has a slow regime: 23 % of the steps take 205 ms, the others 104 ms, although the program "
        "does the same in them. Slow steps come in 3 stretches of 46.7 on average. They take longer in "
        "computing, on node n2."
    )
    assert found.ranks.tolist() == [4, 5, 6, 7]
    assert found.hosts == ("n2",)
    assert found.steps.tolist() == np.flatnonzero(in_phases()).tolist()
    assert found.saved_s == pytest.approx(140 * (0.205 - 0.104), rel=0.03)
    assert found.chance < CHANCE


def test_rank_is_named_where_nodes_are_too_few_or_the_machine_is_unknown():
    (found,) = find(slow_node(8, [5], placement=None))
    assert found.words.endswith("They take longer in computing, on rank 5.")
    assert found.hosts == ()


def test_slow_network_is_reported_as_calls_of_mpi_on_all_ranks():
    compute = noisy((600, 8))
    step = compute.max(axis=1, keepdims=True) * (1 + in_phases()) + 0 * compute
    (found,) = find(
        observed_run(8, 600, compute_time_s=compute, step_time_s=step, placement=plain_placement(8))
    )
    assert found.words.endswith("They take longer in calls of MPI, on all ranks.")
    assert found.picture.field == "waiting_time_s"
    assert len(found.ranks) == 0


def test_ranks_whose_own_steps_are_longer_are_named_where_nothing_divides_these():
    step = noisy((600, 8))
    step[:, [2, 3]] *= 1 + in_phases()
    (found,) = find(observed_run(8, 600, step_time_s=step, compute_time_s=0.01, waiting_time_s=0.0))
    assert found.words.endswith("They take longer on ranks 2 and 3.")
    assert found.ranks.tolist() == [2, 3]


def test_node_that_is_slow_now_and_then_is_reported_once():
    found = ranked(answers(slow_node()))
    assert [finding.kind for finding in found] == ["slow regime"]


def test_node_that_is_always_slow_is_no_regime():
    compute = noisy((600, 16))
    compute[:, 4:8] *= 2
    assert not list(find(observed_run(16, 600, compute_time_s=compute, placement=plain_placement(16))))


@pytest.mark.parametrize("field", ["sent_count", "io_read_bytes", "cells", "solve_count"])
def test_steps_in_which_the_program_does_more_are_its_own(field):
    more = 100 * (1 + in_phases())
    assert not list(find(slow_node(regions=["solve"], **{field: more + np.zeros((600, 16))})))
    assert list(find(slow_node(regions=["solve"], **{field: 100.0})))


def test_output_steps_are_no_regime():
    step = np.arange(600)
    writes = ((step % 50) < 5)[:, np.newaxis]
    compute = noisy((600, 8)) * (1 + 2 * writes)
    written = 1e8 * writes + np.zeros((600, 8))
    assert not list(find(observed_run(8, 600, compute_time_s=compute, io_write_bytes=written)))


def test_ranks_that_share_a_core_are_reported_as_that():
    shared = placement_at(*[("n1", "0-1")] * 4)
    assert not list(find(slow_node(4, [1], placement=shared)))


def test_busy_machine_is_left_to_what_makes_it_busy():
    busy = {"involuntary_switches": 50, "cpu_user_time_s": 0.1, "cpu_system_time_s": 0}
    assert not list(find(slow_node(**busy)))
    assert list(find(slow_node(**{**busy, "involuntary_switches": 0})))


def test_levels_as_near_as_the_steps_of_a_clock_are_not_reported():
    length = 1e-7 * (1 + in_phases()) + 1e-9 * noisy((600, 1))
    assert levels(length[:, 0], np.ones(600, bool)) is not None
    assert not list(find(observed_run(1, 600, step_time_s=length, compute_time_s=length)))


def test_cheap_phases_are_not_reported():
    assert not list(find(slow_node(phases=[(100, 105), (300, 305)])))


def series(name, random, n=800):
    """A series of lengths without two regimes."""
    normal = random.standard_normal(n)
    step = np.arange(n)
    if name == "autocorrelated":
        for at in range(1, n):
            normal[at] += 0.95 * normal[at - 1]
        return np.exp(0.2 * normal)
    return {
        "noise": lambda: np.exp(0.3 * normal),
        "outliers": lambda: 1 + random.pareto(1.5, n),
        "random walk": lambda: np.exp(0.05 * normal.cumsum()),
        "drift": lambda: np.linspace(1, 3, n) + 0.05 * normal,
        "two levels without memory": lambda: np.where(random.random(n) < 0.3, 3, 1) + 0.05 * normal,
        "even distances": lambda: np.where(step % 20 < 6, 3, 1) + 0.05 * normal,
        "another phase": lambda: np.where(step < n // 2, 1, 2) + 0.05 * normal,
        "warm-up": lambda: np.where(step < 50, 2, 1) + 0.05 * normal,
    }[name]()


@pytest.mark.parametrize(
    "name",
    [
        *("noise", "outliers", "autocorrelated", "random walk", "drift", "two levels without memory"),
        *("even distances", "another phase", "warm-up"),
    ],
)
def test_series_without_two_regimes_are_not_reported(name):
    for seed in range(60):
        found = levels(series(name, np.random.default_rng(seed)), np.ones(800, bool))
        assert found is None or found.chance > CHANCE, seed


def test_runs_without_regimes_have_no_finding():
    assert not [seed for seed in range(30) if list(find(observed_run(8, 300, seed=seed, noise=0.2)))]


def test_short_runs_are_not_evaluated():
    assert levels(np.where(in_phases(90, [(20, 60)])[:, 0], 2.0, 1.0), np.ones(90, bool)) is None


def test_question_is_asked_in_the_report():
    assert "slow regime" in {kind for module in QUESTIONS for kind in module.KINDS}
