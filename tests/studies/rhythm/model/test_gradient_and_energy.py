# SPDX-License-Identifier: BSD-3-Clause
"""Phase gradient, potential and Lyapunov function: what a communication topology does to phases."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.planted_phases import TURN, phases_of

from perfield.studies.oscillators.model import Model, oscillate
from perfield.studies.oscillators.model.potentials import PerEdge, PiecewiseSine, Sine, Tanh
from perfield.studies.oscillators.model.topologies import by_send
from perfield.studies.rhythm.model import (
    RhythmError,
    lyapunov,
    lyapunov_rate,
    phase_dataset,
    phase_gradient,
    potential,
)
from perfield.studies.rhythm.model.topology import topology

THREE = topology(3, np.array([0, 1, 1]), np.array([1, 0, 2]), np.array([1.0, 2.0, 3.0]))


def test_gradient_adds_up_weighted_distances_from_senders():
    found = phase_gradient(phases_of([0.0, 0.5, 3.0]), THREE).values / TURN
    assert found == pytest.approx([0.5, 2 * 0.5 + 3 * 2.5, 0])  # whole steps count; rank 2 receives nothing


def test_mean_gradient_is_the_weighted_mean():
    found = phase_gradient(phases_of([0.0, 0.5, 3.0]), THREE, mean=True).values / TURN
    assert found[:2] == pytest.approx([0.5, (2 * 0.5 + 3 * 2.5) / 5])
    assert np.isnan(found[2])


def test_gradient_is_unknown_where_a_sender_is_but_the_mean_leaves_it_out():
    partly = phases_of([0.0, 0.5, np.nan])
    assert np.isfinite(phase_gradient(partly, THREE).values).tolist() == [True, False, False]
    assert phase_gradient(partly, THREE, mean=True).values[:2] / TURN == pytest.approx([0.5, 0.5])


def test_gradient_takes_edges_from_the_dataset_of_phases():
    data = phase_dataset(np.random.default_rng(3).random((3, 4)), np.arange(4.0), THREE)
    assert phase_gradient(data.phase, data).equals(phase_gradient(data.phase, THREE))


def test_topology_of_more_ranks_than_phases_is_refused():
    with pytest.raises(RhythmError, match="oscillators 0 to 2, but there are phases of 0 to 1; take both"):
        phase_gradient(phases_of([0.0, 0.5]), by_send(3, (1, -1)))


def test_potential_is_the_sum_of_squared_pulls():
    found = potential(phases_of([0.0, 0.25, 0.5]), THREE, np.sin)
    assert float(found) == pytest.approx(1 + 2 + 3)


def test_lyapunov_function_of_a_pair_is_its_integral():
    both = by_send(2, (1, -1))
    found = lyapunov(phases_of([[0.0, 0.0], [0.25, 1.0]]), both, Sine())
    assert found.values == pytest.approx([2, 0])  # 2 (1 - cos x)
    far = lyapunov(phases_of([0.0, 10.0]), both, Tanh(3.0))
    assert float(far) == pytest.approx(2 * np.log(np.cosh(3 * 10 * TURN)) / 3)


@pytest.mark.parametrize("pull", [Sine(), Tanh(2.0), PiecewiseSine(2.0)], ids=["sine", "tanh", "piecewise"])
def test_lyapunov_function_falls_as_fast_as_the_ranks_move(pull):
    edges = by_send(6, (1, -1))
    model = Model(edges, pull, coupling=0.8, normalisation="none")
    initial = np.array([2.0, 0.1, -0.3, 0.2, 0.9, -1.0])
    data = oscillate(model, initial, np.linspace(0, 3, 3001))
    speed = np.gradient(data.phase.values, data.time.values, axis=1) - TURN
    expected = -2 / 0.8 * (speed**2).sum(axis=0)
    assert lyapunov_rate(data.phase, data, pull).values[2:-2] == pytest.approx(expected[2:-2], abs=2e-4)
    assert (np.diff(lyapunov(data.phase, data, pull).values) < 1e-9).all()


def test_edges_may_have_potentials_of_their_own():
    mixed = PerEdge((Sine(), Tanh()), np.array([0, 1, 0]))
    found = potential(phases_of(np.tile([[0.0], [0.25], [0.5]], 4)), THREE, mixed)
    assert found.values == pytest.approx(np.full(4, 1 + 2 * np.tanh(np.pi / 2) ** 2 + 3))


def test_potential_is_unknown_where_a_phase_of_an_edge_is():
    series = phases_of([[0.0, 0.0], [0.25, 0.25], [0.5, np.nan]])
    assert np.isfinite(potential(series, THREE, np.sin).values).tolist() == [True, False]
    assert np.isfinite(lyapunov(series, THREE, Sine()).values).tolist() == [True, False]
