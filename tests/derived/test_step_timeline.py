# SPDX-License-Identifier: BSD-3-Clause
"""A logged step as it went: messages with both ends, calls with their names, and which steps have one."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.simulated_waits import collective, compute, recv, send, simulate, step
from known_runs.waiting_runs import write_waiting_run

import perfield
from perfield.derived.step_timeline import StepTimeline, logged_positions, mpi_name

MS = 1_000_000


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Rank 0 sends rank 1 three messages, the second 50 ms late, then both meet. Step 1 has no log."""
    programs = [
        [compute(MS), send(1), compute(50 * MS), send(1), send(1), collective("allreduce"), step()] * 3,
        [compute(MS), recv(0), recv(0), recv(0), collective("allreduce"), step()] * 3,
    ]
    path = tmp_path_factory.mktemp("of") / "run"
    return perfield.open(write_waiting_run(path, simulate(programs), lambda step: step != 1))


def test_messages_lead_from_the_begin_of_the_send_to_the_end_of_the_receive(run):
    shown = StepTimeline.of(run, np.array([2]), 8)
    found = np.sort(shown.messages, order="sent_s")
    assert found[["source", "target"]].tolist() == [(0, 1)] * 3
    assert found["sent_s"] * 1e3 == pytest.approx([1, 51, 51], abs=0.2)
    assert found["received_s"] * 1e3 == pytest.approx([1, 51, 51], abs=0.2)
    assert (found["received_s"] > found["sent_s"]).all(), "a message takes time"
    (late,) = shown.waits[shown.waits["kind"] == 0]
    assert (late["rank"], late["cause"]) == (1, 0)
    assert late["late_s"] == pytest.approx(found["sent_s"][1]), "the wait ends when the second is sent"


def test_calls_have_their_ranks_times_and_names(run):
    shown = StepTimeline.of(run, np.array([0]), 8)
    calls = np.sort(shown.calls, order=["rank", "begin_s"])
    names = [(int(call["rank"]), mpi_name(int(call["call"]))) for call in calls]
    assert names == [
        *([(0, "MPI_Send")] * 3 + [(0, "MPI_Allreduce")]),
        *([(1, "MPI_Recv")] * 3 + [(1, "MPI_Allreduce")]),
    ]
    assert not shown.calls["completes"].any()
    assert (shown.calls["begin_s"] >= 0).all() and (shown.calls["end_s"] <= shown.seconds).all()


def test_steps_of_their_own_with_a_log_have_a_timeline(run):
    assert logged_positions(run).tolist() == [0, 2]
    assert logged_positions(run.at_span(3)).tolist() == []
