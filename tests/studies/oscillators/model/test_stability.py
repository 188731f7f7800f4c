# SPDX-License-Identifier: BSD-3-Clause
"""Eigenvalues and zero modes of locked states, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.studies.oscillators.model import Model, ModelError
from perfield.studies.oscillators.model.potentials import PiecewiseSine, Sine, Tanh
from perfield.studies.oscillators.model.stability import jacobian, locked_state, rates, stability
from perfield.studies.oscillators.model.topologies import all_to_all, chain, ring
from perfield.studies.rhythm.model.topology import topology

C, S = 0.7, 3.0  # coupling, steepness


def unscaled(of, potential=None, **more):
    """A model whose coupling C is divided by nothing."""
    return Model(of, potential or Tanh(S), coupling=C, normalisation="none", **more)


def in_order(values):
    return np.sort_complex(np.round(values, 12))


K = np.arange(18)


@pytest.mark.parametrize(
    ("of", "expected", "zero_modes"),
    [
        (chain(18, bidirectional=True), -(2 - 2 * np.cos(np.pi * K / 18)), 1),
        (ring(18, bidirectional=True), -(2 - 2 * np.cos(2 * np.pi * K / 18)), 1),
        (ring(18), -(1 - np.exp(-2j * np.pi * K / 18)), 1),
        (chain(18), np.append(0, -np.ones(17)), 1),
        (all_to_all(18), np.append(0, -18 * np.ones(17)), 1),
        (topology(4, [0, 1, 2, 3], [1, 0, 3, 2]), np.array([0, 0, -2, -2]), 2),
        (topology(3, [1, 1], [0, 2]), np.array([0, 0, -2]), 2),
    ],
)
def test_eigenvalues_in_step_are_those_of_the_topology(of, expected, zero_modes):
    # Closed forms: eigenvalues of -c V'(0) times the graph's Laplacian; a leader each makes a zero mode.
    found = stability(unscaled(of), np.zeros(of.n))
    np.testing.assert_allclose(in_order(found.eigenvalues), in_order(C * S * expected), atol=1e-10)
    assert found.zero_modes == zero_modes and found.complete and found.stable
    assert found.slowest == pytest.approx(-C * S * np.sort(-np.real(expected))[zero_modes])
    assert found.frequency == pytest.approx(2 * np.pi) and found.drift < 1e-14


@pytest.mark.parametrize("bidirectional", [True, False])
def test_slowest_eigenvalues_of_many_oscillators(bidirectional):
    n = 5000
    found = stability(unscaled(ring(n, bidirectional=bidirectional)), np.zeros(n), count=5)
    wave = np.exp(-2j * np.pi * np.array([0, 1, -1, 2, -2]) / n)
    expected = -C * S * ((2 - wave - wave.conj()) if bidirectional else 1 - wave)
    assert not found.complete and found.zero_modes == 1
    np.testing.assert_allclose(in_order(found.eigenvalues), in_order(expected), atol=1e-10)


def test_a_long_one_directional_chain_is_exact():
    found = stability(unscaled(chain(5000)), np.zeros(5000))
    assert found.complete and found.zero_modes == 1
    np.testing.assert_allclose(found.eigenvalues[1:], -C * S, rtol=1e-14)


def test_repulsion_makes_marching_in_step_unstable_and_the_gap_stable():
    # V' is -3 pi / (2 sigma) at 0 and +3 pi / (2 sigma) at the gap 2 sigma / 3 (eq. 4).
    of, sigma = chain(6, bidirectional=True), 1.2
    model = unscaled(of, PiecewiseSine(sigma))
    together = stability(model, np.zeros(6))
    apart = stability(model, 2 * sigma / 3 * np.arange(6))
    fastest = C * 1.5 * np.pi / sigma * (2 - 2 * np.cos(5 * np.pi / 6))
    assert not together.stable and together.slowest == pytest.approx(fastest)
    assert apart.stable and apart.drift < 1e-12
    assert apart.slowest == pytest.approx(-C * 1.5 * np.pi / sigma * (2 - 2 * np.cos(np.pi / 6)))


@pytest.mark.parametrize(("turns", "stable"), [(1, True), (4, False)])
def test_twisted_ring_is_stable_below_a_quarter_turn_per_neighbour(turns, stable):
    # Closed form: the slope of sin at the gap 2 pi turns / n decides.
    twisted = 2 * np.pi * turns / 12 * np.arange(12)
    assert stability(unscaled(ring(12, bidirectional=True), Sine()), twisted).stable is stable


def test_locked_pair_is_where_the_closed_form_says():
    pair = Model(
        chain(2, bidirectional=True), Sine(), np.array([0.0, 0.5]), coupling=1.0, normalisation="none"
    )
    found = locked_state(pair, np.array([0.3, 0.1]))
    # x' = dw - K sin x with K = 2: x = asin(dw / K); the eigenvalue is -K cos x.
    assert found[1] - found[0] == pytest.approx(np.arcsin(0.25), abs=1e-12)
    assert stability(pair, found).slowest == pytest.approx(-2 * np.cos(np.arcsin(0.25)))


def test_followers_lock_to_the_frequency_of_their_leader():
    model = Model(chain(3), Sine(), np.array([1.0, 0.5, 0.8]), coupling=1.0, normalisation="none")
    found = locked_state(model, np.zeros(3))
    np.testing.assert_allclose(np.diff(found), np.arcsin([-0.5, -0.2]), atol=1e-12)
    assert stability(model, found).frequency == pytest.approx(1.0)


def test_jacobian_is_the_derivative_of_the_rates():
    model, phase = unscaled(chain(5, bidirectional=True), Sine()), np.array([0.1, 0.7, -0.4, 2.0, 1.1])
    found = jacobian(model, phase).toarray()
    for j, step in enumerate(1e-6 * np.eye(5)):
        slope = (rates(model, phase + step) - rates(model, phase - step)) / 2e-6
        np.testing.assert_allclose(found[:, j], slope, atol=1e-9)


def test_oscillators_that_drift_have_no_locked_state():
    pair = Model(chain(2, bidirectional=True), Sine(), np.array([0.0, 2.2]), normalisation="none")
    with pytest.raises(ModelError, match=r"the rates still differ by .* let the model settle first"):
        locked_state(pair, np.zeros(2))


def test_delays_have_no_jacobian():
    with pytest.raises(ModelError, match="with delays, small deviations have infinitely many eigenvalues"):
        stability(unscaled(chain(3), delay=0.05), np.zeros(3))
