# SPDX-License-Identifier: BSD-3-Clause
"""What must not change a metric: turning all phases, naming ranks otherwise, mirroring, whole steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_runs.planted_phases import phases_of

from perfield.studies.oscillators.model.potentials import PiecewiseSine
from perfield.studies.oscillators.model.topologies import by_send
from perfield.studies.rhythm.model import (
    CIRCLE_BINS,
    difference_histogram,
    entropy,
    lyapunov,
    order_parameter,
    phase_gradient,
    phase_variance,
    potential,
    spread,
    state,
    wavefront,
)
from perfield.studies.rhythm.model.topology import topology

PULL = PiecewiseSine(2.0)
SEEDS = st.integers(0, 2**32 - 1)


def numbers(periods, edges):
    """Every metric of one instant that must stay, by name; periods (oscillator,)."""
    phase = phases_of(periods)
    found = {
        "R": order_parameter(phase),
        "S": entropy(phase),
        "S in fixed bins": entropy(phase, CIRCLE_BINS),
        "spread": spread(phase),
        "variance": phase_variance(phase),
        "gradient": phase_gradient(phase, edges).sum(),
        "V": potential(phase, edges, PULL),
        "U": lyapunov(phase, edges, PULL),
    }
    return {name: float(value) for name, value in found.items()}


def cloud(seed):
    """Phases in periods of 3 to 40 ranks with a clear mean phase, a chain of them, and the generator."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 41))
    return rng.normal(0, rng.uniform(0.01, 0.12), n), by_send(n, (1, -2)), rng


@settings(max_examples=40)
@given(SEEDS)
def test_a_turn_of_all_ranks_changes_nothing(seed):
    periods, edges, rng = cloud(seed)
    assert numbers(periods + rng.uniform(-9, 9), edges) == pytest.approx(numbers(periods, edges), abs=1e-9)


@settings(max_examples=40)
@given(SEEDS)
def test_other_names_of_ranks_change_nothing(seed):
    periods, edges, rng = cloud(seed)
    new = rng.permutation(len(periods))  # rank i becomes rank new[i]
    renamed = topology(edges.n, new[edges.receiver], new[edges.sender], edges.weight)
    moved = np.empty_like(periods)
    moved[new] = periods
    assert numbers(moved, renamed) == pytest.approx(numbers(periods, edges), abs=1e-9)


@settings(max_examples=40)
@given(SEEDS)
def test_a_mirror_changes_nothing_but_the_sign_of_the_slope(seed):
    periods, edges, _ = cloud(seed)
    here, there = numbers(periods, edges), numbers(-periods, edges)
    del here["S in fixed bins"], there["S in fixed bins"]  # a phase on the edge of a bin may change sides
    assert there == pytest.approx(here, abs=1e-9)
    front, mirrored = wavefront(phases_of(periods)), wavefront(phases_of(-periods))
    assert float(mirrored.slope) == pytest.approx(-float(front.slope))
    assert float(mirrored.fit) == pytest.approx(float(front.fit))


@settings(max_examples=40)
@given(SEEDS)
def test_whole_steps_change_the_spread_but_neither_r_nor_s(seed):
    periods, edges, rng = cloud(seed)
    steps = rng.integers(-3, 4, len(periods))
    here, there = numbers(periods, edges), numbers(periods + steps, edges)
    for blind in ("R", "S", "S in fixed bins"):
        assert there[blind] == pytest.approx(here[blind], abs=1e-9)
    assert there["spread"] == pytest.approx(np.ptp(periods + steps))


@settings(max_examples=40)
@given(SEEDS)
def test_the_state_keeps_its_name_when_all_ranks_turn_or_swap_sides(seed):
    periods, edges, rng = cloud(seed)
    periods = periods * rng.choice([1, 4, 16]) + rng.choice([0, 1 / 3]) * np.arange(len(periods))
    names = {
        str(state(phases_of(seen), edges).state.values)
        for seen in (periods, periods + rng.integers(-5, 5), -periods)
    }
    assert len(names) == 1


@settings(max_examples=40)
@given(SEEDS)
def test_the_histogram_counts_all_pairs_whatever_the_phases(seed):
    periods, _, rng = cloud(seed)
    found = difference_histogram(phases_of(periods * rng.uniform(0, 1e3)))
    assert int(found.sum()) == len(periods) * (len(periods) - 1) // 2


@settings(max_examples=40)
@given(SEEDS)
def test_r_and_s_stay_in_their_ranges(seed):
    rng = np.random.default_rng(seed)
    phase = phases_of(rng.uniform(-20, 20, rng.integers(1, 30)))
    s = entropy(phase)
    assert 0 <= float(order_parameter(phase)) <= 1 + 1e-12
    assert 0 <= float(s) <= np.log(int(s.bins)) + 1e-12
