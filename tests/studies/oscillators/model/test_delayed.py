# SPDX-License-Identifier: BSD-3-Clause
"""Models with delays, against closed forms."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from perfield.studies.oscillators.model import DelayFunction, Model, ModelError, RandomDelay, oscillate
from perfield.studies.oscillators.model.initial import perturbed
from perfield.studies.oscillators.model.potentials import Custom, Tanh
from perfield.studies.oscillators.model.topologies import by_send

PAIR, FOLLOWER = by_send(2, (1, -1)), by_send(2, (1,))
TIMES = np.linspace(0, 2, 41)


def by_steps(times: np.ndarray, tau: float) -> np.ndarray:
    """x' = -x(t) - x(t - tau) with x = 1 before 0, solved interval by interval up to 2 tau."""
    first = -1 + 2 * np.exp(-times)
    late = times - tau
    second = 1 + (-2 + 2 * np.exp(-tau) - 2 * late) * np.exp(-late)
    return np.where(times <= tau, first, second)


@pytest.mark.parametrize(
    "delay",
    [1.0, np.array([1.0, 1.0]), DelayFunction(lambda time: 1.0, 2.0)],
    ids=["number", "array", "function"],
)
def test_a_linear_pair_follows_the_method_of_steps(delay):
    model = Model(PAIR, Custom(lambda x: x), frequency=0.0, normalisation="none", delay=delay)
    found = oscillate(model, np.array([0.0, 1.0]), TIMES).phase
    # functions of time have no known kinks for the solver to step on
    tolerance = 2e-6 if isinstance(delay, DelayFunction) else 1e-8
    assert (found[1] - found[0]).values == pytest.approx(by_steps(TIMES, 1.0), abs=tolerance)


@pytest.mark.parametrize("tau", [0.003, 0.05, 0.7])
def test_a_follower_approaches_what_it_sees(tau):
    model = Model(FOLLOWER, Tanh(3.0), normalisation="none", delay=tau)
    found = oscillate(model, np.array([0.0, 1.0]), TIMES).phase
    # x = theta_1(t) - theta_0(t - tau): sinh(s x) = sinh(s x0) exp(-s t), x0 = 1 + omega tau
    x = np.arcsinh(np.sinh(3 * (1 + 2 * np.pi * tau)) * np.exp(-3 * TIMES)) / 3
    assert (found[1] - found[0]).values == pytest.approx(x - 2 * np.pi * tau, abs=1e-7)


def test_a_delay_of_zero_is_no_delay():
    start = perturbed(6)
    chain = by_send(6, (1, -1))
    plain = oscillate(Model(chain, Tanh(2.0)), start, TIMES).phase.values
    half = np.where(np.arange(chain.n_edges) % 2, 1e-9, 0.0)  # takes the solver with a past
    found = oscillate(Model(chain, Tanh(2.0), delay=half), start, TIMES).phase.values
    assert found == pytest.approx(plain, abs=1e-6)


def test_an_open_chain_lags_by_omega_tau_per_rank():
    model = Model(by_send(8, (1,)), Tanh(5.0), normalisation="none", delay=0.05)
    found = oscillate(model, np.zeros(8), np.array([0.0, 40.0])).phase.values[:, -1]
    assert np.diff(found) == pytest.approx(np.full(7, -0.1 * np.pi), abs=1e-6)  # gap 0.314159


def test_a_ring_locks_at_the_root_of_its_frequency_equation():
    model = Model(by_send(18, (1, -1), periodic=True), Tanh(5.0), normalisation="none", delay=0.05)
    found = oscillate(model, np.zeros(18), np.array([0.0, 10.0, 20.0])).phase.values
    # Omega = omega + 2 V(-Omega tau)
    assert (found[:, 2] - found[:, 1]) / 10 == pytest.approx(np.full(18, 4.640951), abs=2e-6)


def test_an_open_bidirectional_chain_does_not_lock_flat_unless_compensated():
    chain = {"topology": by_send(18, (1, -1)), "potential": Tanh(5.0), "normalisation": "none"}
    times = np.array([0.0, 400.0])
    end = oscillate(Model(**chain, delay=0.05), perturbed(18), times, rtol=1e-6).phase.values[:, -1]
    assert np.ptp(end) == pytest.approx(3.85, abs=0.01)  # another integrator (jitcdde): 3.85
    even = oscillate(Model(**chain, delay=0.05, compensate=True), np.zeros(18), times).phase.values[:, -1]
    assert even == pytest.approx(np.full(18, 800 * np.pi), abs=1e-6)


def test_random_delays_are_the_same_for_a_seed():
    model = Model(by_send(5, (1, -1)), Tanh(), normalisation="none", delay=RandomDelay(0.02, 0.2))
    few = oscillate(model, np.zeros(5), np.array([0.0, 2.0]), seed=3).phase.values[:, -1]
    finer = oscillate(model, np.zeros(5), TIMES, seed=3, rtol=1e-10, atol=1e-12).phase.values[:, -1]
    assert finer == pytest.approx(few, abs=1e-5)  # jumps come back as kinks within steps
    assert np.abs(oscillate(model, np.zeros(5), TIMES, seed=4).phase.values[:, -1] - few).max() > 1e-4


def test_a_result_continues_from_its_own_history():
    model = Model(by_send(5, (1, -1)), Tanh(2.0), normalisation="none", delay=0.3)
    whole = oscillate(model, perturbed(5), np.linspace(0, 4, 801)).phase
    first = whole.sel(time=slice(0, 2))
    rest = oscillate(model, first.values[:, -1], np.linspace(2, 4, 401), history=first).phase
    assert rest.values == pytest.approx(whole.values[:, 400:], abs=1e-6)


def test_delays_that_make_no_sense_are_refused():
    with pytest.raises(ModelError, match=r"delay = -0\.1 s would let a rank see the future"):
        Model(PAIR, Tanh(), delay=-0.1)
    with pytest.raises(ModelError, match="give 0 <= least <= most"):
        RandomDelay(0.3, 0.1)
    for wrong, text in (
        (-1.0, "must be 0 or more"),
        (9.0, "longer than the history that is kept; raise most"),
    ):
        model = Model(PAIR, Tanh(), delay=DelayFunction(lambda time, tau=wrong: tau, 1.0))
        with pytest.raises(ModelError, match=text):
            oscillate(model, np.zeros(2), TIMES)


def test_a_history_shorter_than_the_delay_is_refused():
    model = Model(PAIR, Tanh(), delay=0.5)
    known = oscillate(Model(PAIR, Tanh()), np.zeros(2), np.linspace(0, 0.4, 5)).phase
    with pytest.raises(
        ModelError, match=r"reaches from 0 to 0.4 s, but delays of up to 0.5 s need -0.1 to 0.4"
    ):
        oscillate(model, np.zeros(2), np.array([0.4, 1.0]), history=known)


def test_a_long_run_forgets_what_nobody_looks_back_at():
    def peak(end: float) -> int:
        tracemalloc.start()
        oscillate(model, perturbed(400), np.array([0.0, end]), rtol=1e-5)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    model = Model(by_send(400, (1, -1)), Tanh(50.0), normalisation="none", delay=0.05)
    peak(0.5)
    assert peak(24.0) < 1.5 * peak(6.0)
