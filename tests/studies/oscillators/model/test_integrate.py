# SPDX-License-Identifier: BSD-3-Clause
"""Integration of the model, against closed forms and values of other solvers."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from perfield.studies.oscillators.model import Model, ModelError, Noise, Stages, Stop, oscillate
from perfield.studies.oscillators.model.initial import disordered, perturbed, spaced
from perfield.studies.oscillators.model.potentials import Custom, Fourier, PerEdge, PiecewiseSine, Sine, Tanh
from perfield.studies.oscillators.model.presets import kuramoto
from perfield.studies.oscillators.model.topologies import all_to_all, by_send
from perfield.studies.rhythm.model import order_parameter
from perfield.studies.rhythm.model.topology import topology

PAIR, FOLLOWER = by_send(2, (1, -1)), by_send(2, (1,))
UNI, BOTH = by_send(18, (1,)), by_send(18, (1, -1))
TIMES = np.linspace(0, 3, 7)


def gap(model: Model, start: float) -> np.ndarray:
    phase = oscillate(model, np.array([0.0, start]), TIMES, rtol=1e-10, atol=1e-12).phase
    return (phase[1] - phase[0]).values


@pytest.mark.parametrize(("edges", "rate"), [(PAIR, 2.0), (FOLLOWER, 1.0)], ids=["both", "one"])
def test_two_oscillators_meet_as_the_closed_forms_say(edges, rate):
    fall = np.exp(-rate * TIMES)  # c = 1
    model = {"topology": edges, "normalisation": "none"}
    tanh = np.arcsinh(np.sinh(5 * 0.4) * fall**5) / 5
    assert gap(Model(potential=Tanh(5.0), **model), 0.4) == pytest.approx(tanh, abs=5e-9)
    sine = 2 * np.arctan(np.tan(1.0) * fall)
    assert gap(Model(potential=Sine(), **model), 2.0) == pytest.approx(sine, abs=5e-9)
    a = 1.5 * np.pi  # sigma = 1
    piecewise = 2 / a * np.arctan(np.tan(a * 0.1 / 2) * fall**-a)
    assert gap(Model(potential=PiecewiseSine(1.0), **model), 0.1) == pytest.approx(piecewise, abs=5e-9)


@pytest.mark.parametrize("sigma", [1.0, np.pi])
def test_a_repelling_pair_settles_two_thirds_of_sigma_apart(sigma):
    model = Model(PAIR, PiecewiseSine(sigma))
    end = oscillate(model, np.array([0.0, 1e-3]), np.array([0.0, 60.0])).phase.values[:, -1]
    assert end[1] - end[0] == pytest.approx(2 * sigma / 3, abs=1e-8)


def test_a_detuned_pair_locks_at_the_arcsine_and_drifts_beyond():
    for detuning, locked in ((0.5, 0.523599), (0.9, 1.119770)):  # asin(dw / K)
        model = Model(FOLLOWER, Sine(), np.array([0.0, -detuning]), normalisation="none")
        end = oscillate(model, np.zeros(2), np.array([0.0, 80.0])).phase.values[:, -1]
        assert end[0] - end[1] == pytest.approx(locked, abs=1e-6)
    turn = 2 * np.pi / np.sqrt(1.1**2 - 1)  # the time for one more period, 2 pi / sqrt(dw^2 - K^2)
    model = Model(FOLLOWER, Sine(), np.array([0.0, -1.1]), normalisation="none")
    found = oscillate(model, np.zeros(2), np.array([0.0, 40.0, 40.0 + turn])).phase.values
    assert (found[0] - found[1])[2] - (found[0] - found[1])[1] == pytest.approx(2 * np.pi, abs=1e-6)


@pytest.mark.parametrize("potential", [Tanh(5.0), Sine(), PiecewiseSine(), Fourier()], ids=str)
def test_symmetric_coupling_conserves_the_mean_phase(potential):
    start = disordered(18)
    kept = oscillate(Model(BOTH, potential), start, np.array([0.0, 20.0])).phase.values[:, -1]
    assert kept.mean() - start.mean() == pytest.approx(40 * np.pi, abs=1e-10)
    lost = oscillate(Model(UNI, potential), start, np.array([0.0, 20.0])).phase.values[:, -1]
    assert abs(lost.mean() - start.mean() - 40 * np.pi) > 1e-2


# theta(100) - 100 of Octave 7.3, ode45 on the equations at RelTol 1e-11: omega = 1, c = 1 / 18
GOLDEN = {
    "uni tanh": (UNI, Tanh(), [4.71238898, 4.49885986, 3.79990759, 0.32407005, 0.00009225], 0.51167147),
    "bi tanh": (BOTH, Tanh(), [1.26235598, 1.11639331, 0.87385781, 0.02877614, 0.00000297], 0.92166026),
    "uni piecewise": (
        UNI,
        PiecewiseSine(),
        [4.71238898, 2.61461246, 0.49994896, -0.58626487, 1.03606880],
        0.35466339,
    ),
    "bi piecewise": (
        BOTH,
        PiecewiseSine(),
        [3.35670191, 1.24807142, -0.87197802, -1.02813673, 0.89040650],
        0.41674103,
    ),
}


@pytest.mark.parametrize("method", ["DOP853", "RK45"])
@pytest.mark.parametrize("case", GOLDEN)
def test_chains_agree_with_octave(case, method):
    edges, potential, expected, order = GOLDEN[case]
    found = oscillate(
        Model(edges, potential, frequency=1.0), perturbed(18), np.array([0.0, 100.0]), method=method
    )
    end = found.phase.values[:, -1] - 100
    assert end[[0, 1, 2, 8, 17]] == pytest.approx(expected, abs=1e-6)
    assert order_parameter(found.phase).values[-1] == pytest.approx(order, abs=1e-6)


# seconds until R >= 0.999 for good, in steps of 0.25 s; DOP853 at rtol 1e-8, T = 1 s, v_p = beta
RESYNCHRONISED = {
    (1, 1, "uni"): 507.8,
    (1, 1, "bi"): 1270.8,
    (5, 1, "uni"): 177.5,
    (5, 1, "bi"): 286.8,
    (5, 2, "bi"): 143.5,
    (18, 1, "uni"): 115.0,
    (18, 1, "bi"): 117.2,
    (18, 2, "bi"): 58.8,
    (50, 1, "uni"): 96.8,
    (50, 2, "bi"): 41.5,
}


def resynchronised(steepness: float, beta: float, edges: str) -> float:
    model = Model({"uni": UNI, "bi": BOTH}[edges], Tanh(steepness), coupling=beta)
    times = np.linspace(0, 1.05 * RESYNCHRONISED[steepness, beta, edges], 4001)
    order = order_parameter(oscillate(model, perturbed(18), times, rtol=1e-7).phase).values
    assert order[0] == pytest.approx(np.sqrt(17**2 + 1) / 18)
    return times[order < 0.999][-1]


@pytest.mark.parametrize("case", RESYNCHRONISED, ids=str)
def test_chains_resynchronise_after_the_times_of_the_reference(case):
    assert resynchronised(*case) == pytest.approx(RESYNCHRONISED[case], abs=0.6)


def test_both_directions_halve_the_time_only_with_twice_the_coupling():
    one, both, twice = (resynchronised(18, *case) for case in ((1, "uni"), (1, "bi"), (2, "bi")))
    assert 0.36 <= twice / one <= 0.52
    assert both / one > 0.72
    assert twice == pytest.approx(both / 2, abs=0.2)


def test_the_end_of_a_delay_depends_on_the_direction():
    times = np.array([0.0, 1000.0])
    ends = [oscillate(Model(edges, Tanh(18.0)), perturbed(18), times).phase.values for edges in (UNI, BOTH)]
    assert ends[0][:, -1] - 2000 * np.pi == pytest.approx(np.full(18, 1.5 * np.pi), abs=1e-6)
    assert ends[1][:, -1] - 2000 * np.pi == pytest.approx(np.full(18, 1.5 * np.pi / 18), abs=1e-6)


def test_the_head_of_an_idle_wave_moves_at_c_times_the_slope():
    from scipy.special import gammainc

    chain, times = by_send(60, (1,)), np.linspace(0, 200, 801)
    model = Model(chain, Tanh(0.2), normalisation="none")
    phase = oscillate(model, perturbed(60, value=0.01), times).phase.values - 2 * np.pi * times
    # small differences: a linear cascade, theta_i / theta_1 = P(i - 1, c s t)
    for rank in (5, 20, 40):
        assert phase[rank] / 0.01 == pytest.approx(gammainc(rank, 0.2 * times), abs=2e-6)
    half = [times[np.searchsorted(phase[rank], 0.005)] for rank in (10, 30)]
    assert 20 / (half[1] - half[0]) == pytest.approx(0.2, rel=0.03)


# ranks/s at which the levels of 50 % and 1 % of a delay of 3 pi / 2 travel, c = 1, 100 ranks, without 1 / P
SPEEDS = {0.2: (0.200, 0.241), 1.0: (0.986, 1.182), 5.0: (4.44, 5.60), 18.0: (13.7, 19.1)}


@pytest.mark.parametrize("steepness", SPEEDS)
def test_a_large_delay_moves_near_the_speed_of_its_head(steepness):
    times = np.linspace(0, 220 / steepness, 6001)
    model = Model(by_send(100, (1,)), Tanh(steepness), normalisation="none")
    phase = oscillate(model, perturbed(100), times, rtol=1e-7).phase.values - 2 * np.pi * times
    ranks = np.arange(20, 81)
    for level, expected in zip((0.5, 0.01), SPEEDS[steepness]):
        arrives = times[np.argmax(phase[ranks] >= level * 1.5 * np.pi, axis=1)]
        speed = 1 / np.polyfit(ranks, arrives, 1)[0]
        assert speed == pytest.approx(expected, rel=0.01)


def test_normalised_by_ranks_a_steepness_of_p_gives_the_speed_v_p():
    times = np.linspace(0, 150, 3001)
    model = Model(by_send(100, (1,)), Tanh(100.0), coupling=1.0)
    phase = oscillate(model, perturbed(100), times, rtol=1e-6).phase.values - 2 * np.pi * times
    ranks = np.arange(20, 81)
    arrives = times[np.argmax(phase[ranks] >= 0.01 * 1.5 * np.pi, axis=1)]
    assert 1 / np.polyfit(ranks, arrives, 1)[0] == pytest.approx(0.960, rel=0.01)


@pytest.mark.parametrize(
    ("sigma", "order"), [(np.pi, 0.4194), (np.pi / 2, 0.8221), (1.0, 0.9248), (0.6, 0.9724)]
)
@pytest.mark.parametrize("offsets", [(1,), (1, -1)], ids=["one way", "both ways"])
@pytest.mark.parametrize("periodic", [False, True], ids=["chain", "ring"])
def test_neighbours_that_repel_end_locked_two_thirds_of_sigma_apart(sigma, order, offsets, periodic):
    edges = by_send(18, offsets, periodic=periodic)
    found = oscillate(Model(edges, PiecewiseSine(sigma)), perturbed(18), np.array([0.0, 4000.0])).phase
    end = found.values[:, -1]
    gaps = end[edges.sender] - end[edges.receiver]
    assert np.abs(gaps) == pytest.approx(np.full(edges.n_edges, 2 * sigma / 3), abs=1e-5)
    assert order_parameter(found).values[-1] == pytest.approx(order, abs=1e-4)


def test_neighbours_at_distances_one_and_two_are_frustrated():
    edges = by_send(18, (1, -1, 2, -2))
    of = PiecewiseSine(np.pi)
    end = oscillate(Model(edges, of), perturbed(18), np.array([0.0, 4000.0])).phase.values[:, -1]
    apart = np.sort(np.abs(np.diff(end)))
    assert (of(end[edges.sender] - end[edges.receiver]) ** 2).sum() == pytest.approx(33.2, abs=0.1)
    assert (apart[0], apart[-1]) == pytest.approx((0.43, 3.22), abs=0.01)  # not 2 sigma / 3


def test_each_edge_may_have_its_own_potential():
    edges = topology(3, [1, 2], [0, 0])
    model = Model(edges, PerEdge((Sine(), Tanh(5.0)), np.array([0, 1])), normalisation="none")
    phase = oscillate(model, np.array([0.0, 2.0, 0.4]), TIMES, rtol=1e-10).phase.values
    assert phase[1] - phase[0] == pytest.approx(2 * np.arctan(np.tan(1.0) * np.exp(-TIMES)), abs=1e-8)
    assert phase[2] - phase[0] == pytest.approx(np.arcsinh(np.sinh(2.0) * np.exp(-5 * TIMES)) / 5, abs=1e-8)


def test_classical_kuramoto_orders_above_twice_the_half_width():
    # Lorentzian frequencies of half width 1: K_c = 2, R = sqrt(1 - K_c / K) above
    for strength, expected in ((2.5, 0.4472), (6.0, 0.8165)):
        assert late_order(strength) == pytest.approx(expected, abs=5e-3)
    assert late_order(1.0) < 0.06


def late_order(strength: float) -> float:
    case = kuramoto(strength, n=500)
    found = oscillate(case.model, case.initial, np.linspace(0, 40, 201), rtol=1e-4, atol=1e-5)
    return float(order_parameter(found.phase)[100:].mean())


def test_coupling_of_all_to_all_agrees_with_its_edges():
    start, frequency = disordered(7), np.linspace(1, 2, 7)
    quick = oscillate(Model(all_to_all(7), Sine(), frequency, 3.0), start, TIMES).phase.values
    edges = Model(all_to_all(7), Custom(np.sin), frequency, 3.0)
    assert quick == pytest.approx(oscillate(edges, start, TIMES).phase.values, abs=1e-7)


def test_a_wavefront_needs_a_start_that_is_steep_enough():
    times = np.array([0.0, 600.0])
    steep, flat = (
        oscillate(Model(UNI, PiecewiseSine(sigma)), spaced(18, gap=by), times).phase.values[:, -1]
        for sigma, by in ((1.0, 0.349), (1.05, 0.1))
    )
    assert np.diff(steep) == pytest.approx(np.full(17, 2 / 3), abs=1e-6)
    assert np.abs(np.diff(flat)) == pytest.approx(np.full(17, 0.7), abs=1e-6)
    assert len(set(np.sign(np.diff(flat)))) == 2  # a zigzag


def test_phases_are_returned_at_the_times_asked_for_only():
    model = Model(BOTH, Tanh(18.0))
    few = oscillate(model, perturbed(18), np.array([0.0, 7.0, 20.0]))
    many = oscillate(model, perturbed(18), np.linspace(0, 20, 401))
    assert few.phase.shape == (18, 3)
    assert few.attrs["rhs_evaluations"] <= many.attrs["rhs_evaluations"]
    assert few.phase.values == pytest.approx(many.phase.sel(time=[0, 7, 20]).values, abs=1e-6)
    assert (few.phase.values[:, 0] == perturbed(18)).all()


def test_the_callers_arrays_stay_as_they_are():
    start, frequency = perturbed(18), np.linspace(6, 7, 18)
    kept = start.copy(), frequency.copy()
    oscillate(Model(UNI, Tanh(), frequency), start, TIMES)
    assert (start == kept[0]).all() and (frequency == kept[1]).all()


def test_phases_that_are_not_numbers_are_refused():
    start = perturbed(18)
    start[4] = np.nan
    with pytest.raises(
        ModelError, match=r"phase of oscillator 4 is nan \(1 of 18 are not finite\); give a phase"
    ):
        oscillate(Model(UNI, Tanh()), start, TIMES)
    with pytest.raises(ModelError, match=r"shape \(3,\); give one for each of 18 oscillators"):
        oscillate(Model(UNI, Tanh()), np.zeros(3), TIMES)


def test_times_and_tolerances_that_make_no_sense_are_refused():
    for times in ([0.0], [0.0, 0.0], [1.0, 0.0], [0.0, np.inf]):
        with pytest.raises(ModelError, match="finite, ascending times"):
            oscillate(Model(UNI, Tanh()), perturbed(18), times)
    with pytest.raises(ModelError, match="'Euler' is unknown; choose one of DOP853, RK45"):
        oscillate(Model(UNI, Tanh()), perturbed(18), TIMES, method="Euler")
    with pytest.raises(ModelError, match=r"rtol = 0 .* must be above 0"):
        oscillate(Model(UNI, Tanh()), perturbed(18), TIMES, rtol=0.0)


@pytest.mark.parametrize("delay", [0.0, 0.1])
def test_an_integration_that_stalls_says_where_and_why(delay):
    def breaks(x: np.ndarray) -> np.ndarray:
        return np.where(x < -0.5, np.nan, x)

    model = Model(PAIR, Custom(breaks), np.array([0.0, 1.0]), coupling=0.0, delay=delay)
    with pytest.raises(
        ModelError, match=r"stalled at 0\.\d+ s of 0 to 3 s: .*Check that the potential is finite"
    ):
        oscillate(model, np.zeros(2), TIMES)


def test_too_many_steps_count_as_a_stall():
    with pytest.raises(ModelError, match=r"stalled at .* 20 steps were not enough"):
        oscillate(Model(BOTH, Tanh(50.0)), perturbed(18), np.array([0.0, 100.0]), most_steps=20)


def test_memory_grows_with_the_edges_only():
    def bytes_per_edge(n: int) -> float:
        tracemalloc.start()
        model = Model(by_send(n, (1, -1)), Tanh())
        oscillate(model, disordered(n), np.array([0.0, 0.1]))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak / model.topology.n_edges

    small, large = bytes_per_edge(2_000), bytes_per_edge(20_000)
    assert large == pytest.approx(small, rel=0.2)
    assert large < 300


def test_noise_delays_stops_and_stages_work_together():
    model = Model(
        by_send(6, (1, -1)),
        Tanh(3.0),
        Stages([0.0, 1.03], [6.0, 7.0]),
        coupling=lambda time: 2.0 + np.sin(time),
        noise=Noise("ornstein_uhlenbeck", 0.1, until=2.0),
        delay=0.13,
        stops=(Stop(2, 0.77, 0.5),),
    )
    times = np.array([0.0, 0.8, 1.2, 3.0])
    coarse = oscillate(model, perturbed(6), times, seed=9).phase.values
    fine = oscillate(model, perturbed(6), times, seed=9, rtol=1e-11, atol=1e-13).phase.values
    assert coarse == pytest.approx(fine, abs=1e-6)
    assert coarse[2, 1] == pytest.approx(coarse[2, 2], abs=1e-9)  # it is constant from 0.77 s to 1.29 s
    assert (np.diff(coarse[[0, 1, 3, 4, 5], 1:3]) > 1.0).all()
