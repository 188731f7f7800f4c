# SPDX-License-Identifier: BSD-3-Clause
"""The name of the state, on planted states with noise, by many seeds."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.planted_phases import phases_of

from perfield.studies.oscillators.model.topologies import by_send
from perfield.studies.rhythm.model import RhythmError, in_words, state
from perfield.studies.rhythm.model.topology import topology

SEEDS = 200
NOISE = 0.01  # periods, standard deviation of each rank


def any_side(rng):
    """1 or -1."""
    return rng.choice([-1, 1])


PLANTED = {
    "synchronised": ("synchronised", lambda n, rng: np.zeros(n)),
    "halves": ("clusters", lambda n, rng: (np.arange(n) >= n // 2) * rng.uniform(0.3, 1.5)),
    "one step apart": ("clusters", lambda n, rng: rng.permutation(np.arange(n) % 2) * 1.0),
    "three nodes": ("clusters", lambda n, rng: np.arange(n) * 3 // n * rng.uniform(0.3, 1)),
    "one late rank": ("clusters", lambda n, rng: (np.arange(n) == rng.integers(n)) * -rng.uniform(0.4, 3)),
    "zigzag": ("clusters", lambda n, rng: np.arange(n) % 2 * rng.uniform(0.25, 0.7)),
    "wavefront": ("wavefront", lambda n, rng: np.arange(n) * rng.uniform(0.1, 0.5) * any_side(rng)),
    "whole steps": ("wavefront", lambda n, rng: np.arange(n) * 1.0 * any_side(rng)),
    "flat wavefront": ("wavefront", lambda n, rng: np.arange(n) / n * rng.uniform(0.6, 1.8)),
    "uniform": ("disordered", lambda n, rng: rng.uniform(0, rng.uniform(0.8, 4), n)),
    "normal": ("disordered", lambda n, rng: rng.normal(0, rng.uniform(0.3, 1), n)),
    "random walk": ("disordered", lambda n, rng: np.cumsum(rng.normal(0, 0.3, n))),
}
# Chance makes pairs and triples of a few disordered ranks alike: measured 5 % of random walks of 8.
MOST_WRONG = {("random walk", 8): 0.08, ("random walk", 18): 0.04, ("random walk", 64): 0.04}


def planted(plant, n, rng, noise=NOISE):
    """Phases in periods (n,), at any place of a run."""
    return plant(n, rng) + rng.normal(0, noise, n) + rng.uniform(0, 1000)


def names_of(plant, n, edges=None, noise=NOISE, unknown=0):
    """The names given to SEEDS planted states."""
    periods = np.empty((n, SEEDS))
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, n])
        periods[:, seed] = planted(plant, n, rng, noise)
        periods[rng.choice(n, unknown, replace=False), seed] = np.nan
    return state(phases_of(periods), edges).state.values


@pytest.mark.parametrize("n", [8, 18, 64])
@pytest.mark.parametrize("kind", PLANTED)
def test_planted_states_get_their_names(kind, n):
    wrong = np.mean(names_of(PLANTED[kind][1], n) != PLANTED[kind][0])
    assert wrong <= MOST_WRONG.get((kind, n), 0.025), f"{kind} of {n} ranks: {wrong:.1%} misnamed"


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_states_get_their_names_where_the_topology_is_known(kind):
    wrong = np.mean(names_of(PLANTED[kind][1], 18, by_send(18, (1, -1))) != PLANTED[kind][0])
    assert wrong <= MOST_WRONG.get((kind, 18), 0.025), f"{kind}: {wrong:.1%} misnamed"


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_states_get_their_names_with_three_times_the_noise(kind):
    wrong = np.mean(names_of(PLANTED[kind][1], 18, noise=3 * NOISE) != PLANTED[kind][0])
    assert wrong <= 0.06, f"{kind}: {wrong:.1%} misnamed"


def test_ranks_one_step_apart_are_no_synchronous_ones_though_r_is_one():
    found = state(phases_of(np.arange(8.0)))
    assert str(found.state.values) == "wavefront"
    assert float(found.order_parameter) == pytest.approx(1)
    assert float(found.slope) == pytest.approx(1)
    assert float(found.fit) == pytest.approx(1)
    assert in_words(found) == (
        "8 ranks are a wavefront: each is 1 step ahead of the one before it (fit 1.00), 7 steps in all;"
        " R = 1.00 does not see the whole steps between them."
    )


def test_wave_from_a_rank_within_a_chain_is_a_wavefront_by_distance():
    def tent(n, rng):
        return -0.3 * np.abs(np.arange(n) - rng.integers(n))

    assert np.mean(names_of(tent, 18, by_send(18, (1, -1))) != "wavefront") <= 0.02
    middle = state(phases_of(-0.3 * np.abs(np.arange(19) - 9)), by_send(19, (1, -1)))
    assert str(middle.order.values) == "distance from the first"
    assert float(middle.slope) == pytest.approx(-0.3)
    assert "each is 0.3 step behind those one message nearer to the rank furthest ahead" in in_words(middle)


def test_wave_around_a_ring_is_a_wavefront_wherever_its_seam_is():
    def around(n, rng):
        return (np.arange(n) - rng.integers(n)) % n / n * rng.integers(1, 3)

    assert np.mean(names_of(around, 18, by_send(18, (1,), periodic=True)) != "wavefront") <= 0.02


def test_wave_both_ways_around_a_ring_is_a_wavefront():
    def both(n, rng):
        away = np.abs(np.arange(n) - rng.integers(n))
        return np.minimum(away, n - away) * 0.2

    assert np.mean(names_of(both, 18, by_send(18, (1, -1), periodic=True)) != "wavefront") <= 0.02


def test_wave_over_a_mesh_is_a_wavefront_by_distance():
    row, column = np.divmod(np.arange(36), 6)
    pairs = [(i, i + 1) for i in range(36) if i % 6 < 5] + [(i, i + 6) for i in range(30)]
    ends = np.array(pairs + [(j, i) for i, j in pairs]).T
    mesh = topology(36, *ends)
    found = state(phases_of(-0.2 * (row + column)), mesh)
    assert str(found.state.values) == "wavefront"
    assert float(found.slope) == pytest.approx(-0.2)


def test_one_late_rank_of_an_all_to_all_topology_is_no_wavefront():
    every = topology(9, *np.array([(i, j) for i in range(9) for j in range(9) if i != j]).T)
    periods = np.append(np.arange(8) % 4 * 0.15, 3.0)
    assert str(state(phases_of(periods), every).state.values) == "disordered"


@pytest.mark.parametrize("kind", ["wavefront", "halves", "synchronised", "whole steps"])
def test_state_is_named_where_some_ranks_are_unknown(kind):
    name, plant = PLANTED[kind]
    assert np.mean(names_of(plant, 18, by_send(18, (1, -1)), unknown=6) != name) <= 0.02


def test_state_of_fewer_than_half_of_the_ranks_is_partly_known():
    few = state(phases_of([0.0, 0.1] + [np.nan] * 3))
    assert str(few.state.values) == "partly known"
    assert in_words(few) == "The state is unknown: 2 of 5 ranks have a phase."
    assert str(state(phases_of([0.0])).state.values) == "partly known"
    assert str(state(phases_of([np.nan] * 4)).state.values) == "partly known"


@pytest.mark.parametrize(
    ("periods", "name"),
    [
        ([0.0, 0.1], "synchronised"),
        ([0.0, 1.0], "disordered"),
        ([0.0, 0.0, 0.75], "clusters"),
        ([0.0, 1.0, 2.0], "wavefront"),
        ([0.0, 1.0, 2.2], "disordered"),
        ([0.0, 1.0, 2.0, 3.0], "wavefront"),
        ([0.0, 1.0, 0.0, 1.0], "clusters"),
    ],
)
def test_few_ranks_are_named_only_as_far_as_they_tell(periods, name):
    assert str(state(phases_of(periods)).state.values) == name


def test_one_late_rank_of_thousands_is_seen():
    rng = np.random.default_rng(0)
    periods = rng.normal(0, 0.02, 4096)
    assert str(state(phases_of(periods)).state.values) == "synchronised"
    periods[77] -= 1
    found = state(phases_of(periods))
    assert str(found.state.values) == "clusters"
    assert str(found.members.values) == "1 + 4095"
    assert in_words(found) == (
        "4096 ranks are 2 clusters (1 + 4095) over 1 step;"
        " R = 0.99 does not see the whole steps between them."
    )


def test_few_ranks_of_many_that_lag_a_little_leave_them_synchronised():
    periods = np.random.default_rng(1).normal(0, 0.02, 1000)
    periods[:9] -= np.linspace(0.05, 0.35, 9)
    assert str(state(phases_of(periods)).state.values) == "synchronised"


def test_few_ranks_of_many_that_lag_by_more_than_half_a_step_do_not():
    periods = np.random.default_rng(1).normal(0, 0.02, 2000)
    periods[:19] -= np.linspace(0.05, 0.7, 19)
    assert str(state(phases_of(periods)).state.values) == "disordered"


def test_trend_that_explains_little_of_the_phases_is_no_wavefront():
    periods = 0.002 * np.arange(512) + np.random.default_rng(2).normal(0, 0.25, 512)
    found = state(phases_of(periods))
    assert 0.4 < float(found.fit) < 0.7
    assert str(found.state.values) == "disordered"


def test_order_may_be_that_of_nodes():
    node = np.random.default_rng(2).permutation(np.repeat(np.arange(10), 2))
    phase = phases_of(0.15 * node)
    assert str(state(phase).state.values) == "disordered"
    found = state(phase, position=node)
    assert str(found.state.values) == "wavefront"
    assert float(found.slope) == pytest.approx(0.15)


def test_positions_of_other_ranks_are_refused():
    with pytest.raises(RhythmError, match=r"position has the shape \(3,\); expected one number for each"):
        state(phases_of(np.zeros(4)), position=np.arange(3))


def test_state_has_the_numbers_that_it_was_evaluated_by():
    found = state(phases_of([[0.0, 0.0], [0.0, 0.02], [0.75, 0.04], [0.75, 0.06]], np.array([5.0, 6.0])))
    assert found.state.values.tolist() == ["clusters", "synchronised"]
    assert found.groups.values.tolist() == [2, 1]
    assert found.members.values.tolist() == ["2 + 2", "4"]
    assert found.spread.values == pytest.approx([0.75, 0.06])
    assert found.order_parameter.values[0] == pytest.approx(np.sqrt(0.5))
    assert found.time.values.tolist() == [5, 6]
    assert found.attrs["ranks"] == 4


def test_topology_of_other_ranks_is_refused():
    with pytest.raises(RhythmError, match="take both from the same model or run"):
        state(phases_of(np.zeros(4)), by_send(5, (1,)))
