# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of the model from times, message sizes and calls whose answer is planted."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.studies.oscillators.model import Model, ModelError, oscillate, topologies
from perfield.studies.oscillators.model.model import distance_factor
from perfield.studies.oscillators.model.parameters import (
    Completion,
    Parameter,
    Parameters,
    beta_of,
    eager_limits,
    kappa_of,
    remarks_on_coupling,
    remarks_on_times,
    step_times,
)
from perfield.studies.oscillators.model.potentials import Tanh

ONE_WAITALL = Completion(waitalls=1, single=0, messages=1)
SINGLE_WAITS = Completion(waitalls=0, single=2, messages=1)


def ranks_that_wait(n_steps=40):
    """Steps of 4 ranks that compute 5, 6, 7, 8 ms and wait for the slowest; messages take 0.1 ms."""
    compute = np.tile([0.005, 0.006, 0.007, 0.008], (n_steps, 1))
    compute[3] += 0.5  # a step with a delay, which moves no median
    waiting = compute.max(axis=1, keepdims=True) - compute + 1e-4
    return compute + waiting, waiting, np.ones(4, bool)


def test_t_comp_of_each_rank_is_its_median_outside_mpi():
    t_comp, _ = step_times(*ranks_that_wait())
    assert t_comp.value == pytest.approx([0.005, 0.006, 0.007, 0.008])
    assert "median time outside waiting MPI calls, 40 steps" in t_comp.source


def test_t_comm_is_communication_without_waiting():
    _, t_comm = step_times(*ranks_that_wait())
    assert t_comm.value == pytest.approx(1e-4)


def test_ranks_without_messages_do_not_make_t_comm_zero():
    step, waiting, exchanging = ranks_that_wait()
    waiting[:, 0], exchanging[0] = 0.0, False
    assert step_times(step, waiting, exchanging)[1].value == pytest.approx(1e-4)


def test_steps_whose_work_moves_from_rank_to_rank_are_reported_to_be_longer():
    compute = np.full((40, 4), 0.001)
    compute[np.arange(40), np.arange(40) % 4] = 0.020  # each rank in turn computes 20 ms
    waiting = compute.max(axis=1, keepdims=True) - compute + 1e-4
    t_comp, t_comm = step_times(compute + waiting, waiting, np.ones(4, bool))
    (note,) = remarks_on_times(compute + waiting, t_comp.value, t_comm.value)
    assert "steps took 20.1 ms (median), 18.3 times t_comp + t_comm" in note
    assert "the model's steps are shorter" in note


def test_steps_that_the_slowest_rank_decides_get_no_remark():
    step, waiting, exchanging = ranks_that_wait()
    t_comp, t_comm = step_times(step, waiting, exchanging)
    assert remarks_on_times(step, t_comp.value, t_comm.value) == ()


def test_frequencies_that_no_coupling_holds_together_are_reported_with_their_drift():
    edges = topologies.chain(6, bidirectional=True)
    frequency = np.array([100.0, 130.0, 100.0, 100.0, 100.0, 100.0])
    (note,) = remarks_on_coupling(frequency, 20.0, edges)
    # rank 1 goes at 130 - 2 * 20 / 6 at least, rank 0 (one partner) at 100 + 20 / 6 at most: 20 rad/s
    assert "in the model rank 1 gains at least 20 % of a step per step on rank 0" in note
    model = Model(edges, Tanh(6.0), frequency, 20.0)
    phase = oscillate(model, np.zeros(6), np.linspace(0, 20, 3)).phase.values[:, -1]
    assert (phase[1] - phase[0]) / 20 == pytest.approx(20, rel=0.05)


@pytest.mark.parametrize("frequencies", [[100.0] * 6, [100.0, 103.0, 100.0, 100.0, 100.0, 100.0]])
def test_frequencies_that_the_coupling_holds_together_get_no_remark(frequencies):
    assert remarks_on_coupling(np.array(frequencies), 20.0, topologies.chain(6, bidirectional=True)) == ()


def test_absent_steps_do_not_count():
    step, waiting, exchanging = ranks_that_wait()
    step[:20, 1] = waiting[:20, 1] = np.nan
    step[7] = waiting[7] = np.nan
    t_comp, t_comm = step_times(step, waiting, exchanging)
    assert t_comp.value == pytest.approx([0.005, 0.006, 0.007, 0.008])
    assert t_comm.value == pytest.approx(1e-4)
    assert "39 steps" in t_comm.source


def test_a_single_step_is_refused():
    step, waiting, exchanging = ranks_that_wait()
    with pytest.raises(ModelError, match="there is 1 step with times in step 0; measure at least 2, or give"):
        step_times(step[:1], waiting[:1], exchanging, "step 0")


def test_times_without_mpi_are_refused():
    step, waiting, exchanging = ranks_that_wait()
    with pytest.raises(
        ModelError, match="which this run did not measure; run the program under perfield with MPI"
    ):
        step_times(step, waiting * np.nan, exchanging)


def beta(edges, message_bytes, limit=256.0, synchronous=False):
    of_edge = np.ones(edges.n_edges)
    return beta_of(
        edges, message_bytes * of_edge, limit * of_edge, np.full(edges.n_edges, synchronous), "given as 256 B"
    )


@pytest.mark.parametrize(
    ("bidirectional", "message_bytes", "expected"), [(1, 256, 1), (1, 257, 2), (0, 256, 1), (0, 257, 1)]
)
def test_beta_is_two_only_for_rendezvous_in_both_directions(bidirectional, message_bytes, expected):
    edges = topologies.chain(6, bidirectional=bool(bidirectional))
    assert beta(edges, message_bytes).value == expected


def test_synchronous_sends_are_rendezvous_at_any_size():
    found = beta(topologies.ring(6, bidirectional=True), 8, synchronous=True)
    assert found.value == 2
    assert "100 % are sent synchronously" in found.source


def test_beta_says_what_it_is_taken_from():
    assert beta(topologies.chain(6), 1000).source == (
        "100 % of 5 edges are rendezvous; messages of 1 kB (median), eager limit given as 256 B; "
        "0 % have one in the other direction"
    )


def test_eager_limits_are_assumed_by_mpi_and_place():
    limits, words = eager_limits("Open MPI 4.1.4", np.array([True, False]))
    assert limits.tolist() == [4040, 65_480]
    assert "assumed 4.04 kB on a node, 65.5 kB between nodes for Open MPI 4.1.4; give eager_limit" in words
    limits, words = eager_limits("MPICH 4.0.2", np.array([True]))
    assert limits.tolist() == [8255]
    limits, words = eager_limits("", np.array([True]))
    assert limits.tolist() == [16_384]
    assert "for an unknown MPI" in words


def test_a_given_eager_limit_counts():
    limits, words = eager_limits("Open MPI 4.1.4", np.array([True, False]), 4000)
    assert limits.tolist() == [4000, 4000]
    assert words == "given as 4 kB"
    with pytest.raises(ModelError, match="eager_limit = -1 is not a number of bytes"):
        eager_limits("", np.array([True]), -1)


@pytest.mark.parametrize(
    ("edges", "grouped", "single"),
    [
        (topologies.chain(9), 1, 1),
        (topologies.chain(9, bidirectional=True), 1, 1),
        (topologies.ring(9), 1, 1),
        (topologies.compact(9, 2), 2, 3),
        (topologies.compact(9, 2, bidirectional=True), 2, 3),
        (topologies.by_send(9, [1, -1, -2]), 2, 3),
        (topologies.mesh((4, 5)), 5, 6),
    ],
)
def test_kappa_is_the_longest_distance_or_the_sum_in_one_direction(edges, grouped, single):
    assert kappa_of(edges, ONE_WAITALL).value == grouped
    assert kappa_of(edges, SINGLE_WAITS).value == single


def test_kappa_of_one_direction_is_the_distance_factor_of_the_paper():
    edges = topologies.by_send(9, [1, 2, 4])
    assert kappa_of(edges, ONE_WAITALL).value == distance_factor([1, 2, 4], one_waitall=True)
    assert kappa_of(edges, SINGLE_WAITS).value == distance_factor([1, 2, 4], one_waitall=False)


def test_kappa_says_how_messages_are_completed():
    edges = topologies.by_send(9, [1, -1, -2])
    assert kappa_of(edges, ONE_WAITALL).source == (
        "longest distance, as one MPI_Waitall completes each exchange (1 per step), median over ranks; most "
        "messages go -2, -1, +1 ranks"
    )
    assert "not completed by one MPI_Waitall (0 of it and 2 calls" in kappa_of(edges, SINGLE_WAITS).source
    assert "no calls of MPI, so single waits are assumed" in kappa_of(edges, None).source


@pytest.mark.parametrize(
    ("waitalls", "single", "messages", "one"),
    [
        (1, 0, 1, True),
        (10, 0, 10, True),
        (2, 0, 1, False),
        (1, 1, 1, False),
        (0, 2, 1, False),
        (1, 0, 3, True),
    ],
)
def test_one_waitall_per_exchange_is_recognised(waitalls, single, messages, one):
    assert Completion(waitalls, single, messages).one_waitall is one


def test_frequency_and_coupling_follow_from_times_beta_and_kappa():
    found = Parameters(
        Parameter("t_comp", np.array([0.8, 1.8]), "s", "planted"),
        Parameter("t_comm", 0.2, "s", "planted"),
        Parameter("beta", 2.0, "1", "planted"),
        Parameter("kappa", 3.0, "1", "planted"),
        ("one note.",),
    )
    assert found.frequency.value == pytest.approx([2 * np.pi, np.pi])
    assert found.coupling.value == pytest.approx(2 * 3 / (1.3 + 0.2))
    assert found.sentences[0] == "t_comp = 1.3 s (median; 800 ms to 1.8 s by rank): planted."
    assert found.sentences[1] == "t_comm = 200 ms: planted."
    assert found.sentences[3] == "beta = 2: planted."
    assert found.sentences[-1] == "one note."
