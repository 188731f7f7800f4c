# SPDX-License-Identifier: BSD-3-Clause
"""The discrete-event model of communication hiding: closed forms, a plain event queue, and bad input."""

from __future__ import annotations

import heapq
import json

import numpy as np
import pytest

from perfield.studies.hiding.model import (
    DYNAMIC,
    FIXED,
    METHODS,
    TEST,
    Congestion,
    Drawn,
    HidingError,
    Latency,
    Program,
    Splitting,
    Trace,
    simulate,
)
from perfield.studies.hiding.model.closed_forms import fixed_s, optimum_s, settled_s
from perfield.studies.regimes import model as regimes

C, M, EPS = 1.65e-3, 0.25e-3, 0.1e-3
PAIRS = [(0.25e-3, 1.1e-3), (1.1e-3, 0.25e-3), (0.6e-3, 0.6e-3), (1.1e-3, 1.1e-3)]
EXACT = 1e-9  # s; the figure to hold


def program(into: float, out: float, sigma: float = 0.0, **more: object) -> Program:
    given = {"compute_s": C, "mirror_s": M, "splitting": Splitting(EPS), "shape": (2, 2, 2), **more}
    return Program(Drawn(Latency(into, sigma), Latency(out, sigma)), **given)


@pytest.mark.parametrize(
    ("into", "out", "expected"), [(*pair, t) for pair, t in zip(PAIRS, (1.925e-3, 1.925e-3, 1.65e-3, 2.2e-3))]
)
def test_fixed_alpha_takes_its_closed_form(into, out, expected):
    # Expected: the reference's figures for these four pairs.
    found = simulate(program(into, out), 3, methods=[FIXED])
    assert fixed_s(C, into, out) == pytest.approx(expected, abs=1e-15)
    np.testing.assert_allclose(found["time_s"], expected, atol=EXACT, rtol=0)


@pytest.mark.parametrize(("into", "out"), PAIRS)
def test_best_alpha_takes_the_optimum_and_none_less(into, out):
    times = [
        float(
            simulate(program(into, out, splitting=Splitting(EPS, start=alpha)), 1, methods=[FIXED])[
                "time_s"
            ].max()
        )
        for alpha in np.arange(1, 24) / 24  # 18,720 elements divide by 24
    ]
    into_share = into / C
    best = simulate(
        program(into, out, splitting=Splitting(EPS, start=into_share), n_elements=16_500), 1, methods=[FIXED]
    )
    assert min(times) >= optimum_s(C, into, out) - EXACT
    assert float(best["time_s"].max()) == pytest.approx(optimum_s(C, into, out), abs=EXACT)


@pytest.mark.parametrize(("into", "out"), PAIRS)
def test_dynamic_alpha_settles_eps_above_the_optimum_on_the_losing_side(into, out):
    # For (.25, 1.1) the reference gives 1.750 ms against an optimum of 1.650 ms with eps = .1 ms.
    elements = 10**9  # so that whole elements round alpha by less than the tolerance
    found = simulate(program(into, out, n_elements=elements), 400, methods=[DYNAMIC])
    last = found["time_s"].isel(step=-1)
    hideable = into + out < C
    expected = settled_s(C, into, out, EPS) if hideable else optimum_s(C, into, out)
    np.testing.assert_allclose(last, expected, atol=EXACT, rtol=0)


@pytest.mark.parametrize(("into", "out"), PAIRS)
def test_tests_end_the_first_part_at_the_first_poll_after_the_input(into, out):
    n, polls, poll_s = 6400, 64, 0.3e-6
    found = simulate(program(into, out, n_elements=n, poll_s=poll_s), 1, methods=[TEST])
    step = C / polls + poll_s
    made = int(np.ceil(into / step))
    expected = made * step + max((1 - made / polls) * C, out)
    np.testing.assert_allclose(found["time_s"], expected, atol=EXACT, rtol=0)
    np.testing.assert_allclose(found["alpha"], made / polls)


def test_input_that_comes_after_all_elements_is_waited_for():
    found = simulate(program(5e-3, 1e-3, n_elements=6400, poll_s=0), 1, methods=[TEST])
    assert float(found["alpha"].min()) == 1
    np.testing.assert_allclose(found["t_in"], 5e-3)
    np.testing.assert_allclose(found["w_in"], 5e-3 - C)
    np.testing.assert_allclose(found["t_out"], 1e-3)


def by_event_queue(of: Program, into: np.ndarray, out: np.ndarray, alpha: float) -> np.ndarray:
    """T of each rank in one MatVec, by a plain queue of events: messages and ends of work, rank by rank."""
    others = of.neighbours()
    takes_in, takes_out = of.messages()
    first = np.floor(alpha * of.n_elements) / of.n_elements * of.compute_s
    waiting_in = takes_in.sum(axis=1) + 1  # messages, and the rank's own first part
    waiting_out = takes_out.sum(axis=1) + 1
    ended_in, ended = np.zeros(of.n_ranks), np.zeros(of.n_ranks)
    queue = [(first, rank, "in") for rank in range(of.n_ranks)]
    queue += [(into[rank, slot], rank, "in") for rank, slot in zip(*np.nonzero(takes_in))]
    heapq.heapify(queue)
    sent = {}
    while queue:
        now, rank, kind = heapq.heappop(queue)
        if kind == "in":
            waiting_in[rank] -= 1
            if waiting_in[rank] == 0:
                ended_in[rank] = now
                sent[rank] = now + of.mirror_s
                heapq.heappush(queue, (sent[rank] + of.compute_s - first, rank, "out"))
                for receiver, slot in zip(*np.nonzero((others == rank) & takes_out)):
                    heapq.heappush(queue, (sent[rank] + out[receiver, slot], int(receiver), "out"))
        else:
            waiting_out[rank] -= 1
            ended[rank] = max(ended[rank], now)
            assert waiting_out[rank] >= 0
    return ended - of.mirror_s


@pytest.mark.parametrize("owner", ["both", "lower", "upper"])
@pytest.mark.parametrize("periodic", [False, True])
def test_random_latencies_give_the_times_of_a_plain_event_queue(owner, periodic):
    random = np.random.default_rng(3)
    shape = (3, 3, 4)
    into, out = (random.lognormal(np.log(0.7e-3), 0.8, (5, 36, 6)) for _ in range(2))
    of = Program(Trace(into, out), C, Splitting(EPS, start=0.4), M, shape, owner=owner, periodic=periodic)
    found = simulate(of, 5, methods=[FIXED]).sel(splitting=FIXED)
    for step in range(5):
        expected = by_event_queue(of, into[step], out[step], 0.4)
        np.testing.assert_allclose(found["time_s"].isel(step=step), expected, atol=EXACT, rtol=0)


def test_times_are_sums_of_work_and_waits():
    found = simulate(program(0.4e-3, 0.9e-3, 0.5), 300)
    tested = found.sel(splitting=[FIXED, DYNAMIC])
    part = np.floor(tested["alpha"] * 18_720 + 1e-9) / 18_720
    np.testing.assert_allclose(tested["t_in"] - tested["w_in"], part * C, atol=1e-12)
    np.testing.assert_allclose(found["t_in"] + found["t_out"], found["time_s"])
    assert float(found["w_in"].min()) >= 0 and float(found["w_out"].min()) >= 0


def test_methods_meet_the_same_latencies_and_a_seed_repeats_them():
    of = Program(
        Drawn(Latency(0.3e-3, 0.1), Latency(0.8e-3, 0.1), Congestion(0.1, 0.4, 5, 1)), C, Splitting(EPS), M
    )
    one, again = simulate(of, 700, seed=4), simulate(of, 700, seed=4)
    assert one.identical(again)
    assert not np.allclose(one["time_s"], simulate(of, 700, seed=5)["time_s"])
    alone = simulate(of, 700, methods=[DYNAMIC], seed=4)
    np.testing.assert_array_equal(
        alone["time_s"].sel(splitting=DYNAMIC), one["time_s"].sel(splitting=DYNAMIC)
    )
    slow = one["time_s"].sel(splitting=TEST).mean("rank")
    assert float(slow[one["congested"]].mean()) > 2 * float(slow[~one["congested"]].mean())


def test_congestion_lasts_as_its_probabilities_say():
    of = Congestion(0.12, 0.4)
    states = of.states(40_000, np.random.default_rng(0))
    assert states.mean() == pytest.approx(of.share, abs=0.01)
    begins = np.count_nonzero(np.diff(states.astype(int)) == 1)
    assert states.sum() / begins == pytest.approx(1 / 0.4, rel=0.05)


def test_result_is_timings_for_each_method():
    found = simulate(program(0.3e-3, 0.8e-3, 0.1), 20)
    for method in METHODS:
        of_one = found.sel(splitting=method)
        assert of_one["time_s"].dims == ("rank", "step")
        assert regimes.largest(of_one)["time_s"].shape == (1, 20)
    assert json.loads(found.attrs["parameters"])["compute_s"] == C
    assert found.attrs["source"] == "model"


def test_lower_rank_owns_the_border_between_two():
    of = Program(Drawn(Latency(1.1e-3), Latency(1.2e-3)), C, Splitting(EPS), shape=(2, 1, 1), owner="lower")
    found = simulate(of, 1, methods=[FIXED]).sel(splitting=FIXED).isel(step=0)
    np.testing.assert_allclose(found["w_in"], [0, 1.1e-3 - C / 2])  # input goes up
    np.testing.assert_allclose(found["w_out"], [1.1e-3 + 1.2e-3 - C, 0], atol=1e-12)  # output comes late


def test_one_rank_is_refused():
    with pytest.raises(HidingError, match=r"one rank has no neighbour.*2 ranks or more"):
        program(0, 0, shape=(1, 1, 1))


def test_trace_that_is_shorter_than_the_run_is_refused():
    trace = Trace(np.zeros((10, 8, 6)), np.zeros((10, 8, 6)))
    of = Program(trace, C, Splitting(EPS), M, (2, 2, 2))
    simulate(of, 10)
    with pytest.raises(HidingError, match=r"latencies of 10 MatVecs, but 11 are to run.*longer trace"):
        simulate(of, 11)


def test_trace_of_another_grid_is_refused():
    of = Program(Trace(np.zeros((10, 4, 6)), np.zeros((10, 4, 6))), C, Splitting(EPS), M, (2, 2, 2))
    with pytest.raises(HidingError, match=r"the trace is of 4 ranks.*the grid has 8"):
        simulate(of, 10)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Latency(-1.0), "a latency of -1 s"),
        (lambda: Congestion(1.2, 0.4), "begins with probability 1.2"),
        (lambda: Congestion(0.1, 0.0), "ends with 0"),
        (lambda: Trace(np.full((1, 2, 6), -1.0), np.zeros((1, 2, 6))), "below 0 s"),
        (lambda: Trace(np.zeros((1, 2, 6)), np.zeros((2, 2, 6))), "expected .n_matvecs, n_ranks, n_slots."),
        (lambda: program(0, 0, n_polls=20_000), "20,000 polls in 18,720 elements"),
        (lambda: program(0, 0, compute_s=-1.0), "compute_s = -1.0 makes no sense"),
        (lambda: program(0, 0, compute_s=np.ones(3)), r"compute_s has the shape \(3,\)"),
        (lambda: program(0, 0, owner="me"), "owner 'me' is unknown"),
        (lambda: program(0, 0, shape=(2, 2)), "give three counts"),
        (lambda: simulate(program(0, 0), 0), "0 MatVecs are nothing"),
        (lambda: simulate(program(0, 0), 1, methods=["tests"]), "choose of fixed, dynamic, test"),
    ],
)
def test_input_that_makes_no_sense_is_refused(make, text):
    with pytest.raises(HidingError, match=text):
        make()
