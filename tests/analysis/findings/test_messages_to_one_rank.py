# SPDX-License-Identifier: BSD-3-Clause
"""The finding "messages to one rank": a gather by point-to-point, whose senders wait for their turn."""

from __future__ import annotations

import os
import re

import pytest
from known_runs.observed_runs import observed_run
from known_runs.simulated_waits import collective, compute, irecv, recv, send, simulate, step, wait
from known_runs.waiting_runs import write_waiting_run

import perfield
from perfield import _bridge
from perfield.analysis.findings import answers, messages_to_one_rank, needs
from perfield.derived.observe import observe
from perfield.report import report
from perfield.report.sections import asked

MS = 1_000_000
BYTES = 10 * MS  # 1 ms on the simulated network
STEPS, RANKS = 40, 5


def program(receives, more_ms: float = 0.0, to=lambda rank: 0):
    """Ranks compute 1 ms, rank 0 `more_ms` longer; others send; all end the step together.

    receives : the operations of rank 0. to : the rank to which a rank sends.
    """
    programs = []
    for rank in range(RANKS):
        own = receives if rank == 0 else [send(to(rank), BYTES)]
        own = (
            own
            if to(1) == 0
            else [irecv((rank - 1) % RANKS, "r"), send((rank + 1) % RANKS, BYTES), wait("r")]
        )
        begin = [compute((1 + more_ms * (rank == 0)) * MS)]
        programs.append([*begin, *own, collective("allreduce"), step()] * STEPS)
    return simulate(programs)


IN_TURN = [recv(rank) for rank in range(1, RANKS)]
AT_ONCE = [*(irecv(rank, f"{rank}") for rank in range(1, RANKS)), wait(*map(str, range(1, RANKS)))]


def found_in(path, simulation):
    path = write_waiting_run(path / "run", simulation)
    return list(messages_to_one_rank.find(observe(perfield.open(path), needs()))), path


def test_rank_that_receives_in_turn_is_named_with_what_the_last_sender_waits(tmp_path):
    (finding,), path = found_in(tmp_path, program(IN_TURN))
    assert finding.kind == "messages to one rank" and finding.ranks.tolist() == [0]
    assert finding.pairs.tolist() == [[rank, 0] for rank in range(1, RANKS)]
    assert finding.saved_s == pytest.approx(STEPS * 3e-3, rel=0.1), "rank 4 waits for three messages of 1 ms"
    assert finding.words == (
        "All 4 other ranks send to rank 0, which takes their messages one after the other: 3 wait in sends "
        "until it receives (late receiver), 240 ms in all, rank 4 longest: 120 ms."
    )
    assert "MPI_Gather" in finding.remedy and "let rank 0 post all receives first" in finding.remedy
    made = report(perfield.open(path))
    assert made.findings[0].kind == finding.kind
    assert not {"late rank", "rank that all wait for"} & {each.kind for each in made.findings}
    late = "Does the waiting of the others begin on a rank that computes no longer than they do?"
    assert f"{late} Explained by finding 1." in asked(made)


def test_summary_says_that_all_others_send_to_the_late_receiver(tmp_path):
    _, path = found_in(tmp_path, program(IN_TURN))
    lines = _bridge.summary_lines(os.fsencode(path))
    line = "rank 0 costs the others 481 ms, 100 % of all known waiting (late receiver; all others send to it)"
    assert f"waits      {line}" in lines
    assert any(re.match("perfield   below 0.01 % of the time", each) for each in lines)


def test_receives_that_are_posted_at_once_are_no_finding(tmp_path):
    assert not found_in(tmp_path, program(AT_ONCE))[0]


def test_rank_that_computes_before_it_receives_is_left_to_the_imbalance(tmp_path):
    found, path = found_in(tmp_path, program(IN_TURN, more_ms=20))
    assert not found
    (other,) = report(perfield.open(path)).findings
    assert other.ranks.tolist() == [0] and "computes" in other.words


def test_late_receiver_in_a_ring_is_no_finding(tmp_path):
    found, _ = found_in(tmp_path, program([], more_ms=2, to=lambda rank: rank + 1))
    assert not found


def test_run_without_stamps_leaves_the_question_open():
    (answer,) = answers(observed_run(), [messages_to_one_rank])
    assert answer.missing == ("messages", "wait_states") and not answer.findings
