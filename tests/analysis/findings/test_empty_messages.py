# SPDX-License-Identifier: BSD-3-Clause
"""Messages without bytes: how many, between whom, and when they are worth reporting."""

import numpy as np
import pytest
from known_runs.observed_runs import observed_run

from perfield.analysis.findings import empty_messages

# of 8 ranks in a row, per pair and 60 steps
HALO = [(a, b, 60, 60_000, 0) for a in range(8) for b in (a - 1, a + 1) if 0 <= b < 8]


def found(messages, **fields):
    sent = sum(row[2] for row in messages) / 60 / 8
    given = {"empty": sum(row[4] for row in messages) / 60, "sent_count": sent, "received_count": sent}
    return list(empty_messages.find(observed_run(messages=messages, **{**given, **fields})))


def test_pairs_that_never_carry_a_byte_are_reported():
    (finding,) = found([*HALO, (3, 7, 1800, 0, 1800), (2, 5, 600, 600, 540)])
    assert finding.kind == "empty messages"
    assert finding.words == (
        "39 messages per step carry no bytes, 72 % of them. They go between 2 pairs of ranks, 1 of them "
        "without any other message. Most go from rank 3 to rank 7: 30 per step."
    )
    assert finding.pairs.tolist() == [[3, 7], [2, 5]]
    assert finding.ranks.tolist() == [2, 3]
    assert finding.saved_s is None
    assert not len(finding.steps)


def test_full_messages_are_no_finding():
    assert found(HALO) == []


def test_few_empty_messages_are_no_finding():
    assert found([*HALO, (3, 7, 60, 0, 60)]) == []


def test_fewer_than_one_per_step_are_no_finding():
    assert found([(3, 7, 59, 0, 59)]) == []


def test_few_empty_messages_are_reported_if_their_calls_cost_time():
    calls = {"mpi_p2p_time_s": 0.01}  # of steps of 0.1 s
    (finding,) = found([*HALO, (3, 7, 60, 0, 60)], **calls)
    # Ranks 3 and 7 send or receive one of 15 / 8 messages in each of the 60 steps, twice counted as calls.
    assert finding.saved_s == pytest.approx(60 * 0.01 / (2 * 15 / 8), rel=1e-6)


def test_calls_that_wait_do_not_make_messages_dear():
    waiting = np.full((60, 1), 0.01)
    waiting[::6] = 1e-6  # in a sixth of the steps nobody is late
    assert found([*HALO, (3, 7, 60, 0, 60)], mpi_p2p_time_s=waiting) == []


def test_ranks_that_wait_for_a_late_one_do_not_make_messages_dear():
    waiting = np.where(np.arange(8) == 3, 0.0, 0.05)  # all wait for rank 3
    assert found([*HALO, (3, 7, 60, 0, 60)], mpi_p2p_time_s=1e-6, mpi_wait_time_s=waiting) == []


def test_ranks_with_few_messages_do_not_say_what_they_cost():
    sent = np.where(np.arange(8) == 0, 0.1, 15 / 8)
    costs = np.where(np.arange(8) == 0, 1e-9, 0.01)
    (finding,) = found([*HALO, (3, 7, 60, 0, 60)], sent_count=sent, received_count=sent, mpi_p2p_time_s=costs)
    assert finding.saved_s == pytest.approx(60 * 0.01 / (2 * 15 / 8), rel=1e-6)


def test_empty_messages_of_some_steps_name_these_steps():
    empty = np.zeros(60)
    empty[::20] = 1000
    (finding,) = found([(3, 7, 3000, 0, 3000)], empty=empty)
    assert finding.words.startswith(
        "1,000 messages in each of 3 steps carry no bytes, all of them. They go from rank 3"
    )
    assert finding.steps.tolist() == [0, 20, 40]
    assert finding.picture.step in (0, 20, 40)


def test_empty_messages_to_unknown_ranks_are_counted_without_pairs():
    (finding,) = found([(3, -1, 6000, 0, 6000)])
    assert finding.words == "100 messages per step carry no bytes, all of them."
    assert finding.pairs.shape == (0, 2)


def test_two_ranks_that_send_nothing_else_are_reported_as_such():
    (finding,) = found([*HALO, (3, 7, 1800, 0, 1800)])
    assert finding.words.endswith("They go from rank 3 to rank 7, which gets no other message from it.")


def test_pairs_that_do_not_touch_on_the_mesh_are_counted():
    row = [(a, a + 1) for a in range(7)]
    (finding,) = found([(0, 1, 60, 0, 60), (3, 7, 60, 0, 60)], neighbours=row)
    assert "2 of them without any other message and 1 between ranks that do not touch" in finding.words
    assert finding.words.endswith("Each pair has 1 per step.")


def test_a_run_that_closed_no_step_says_no_messages_per_step():
    messages = [(3, 7, 1800, 0, 1800), (2, 5, 600, 600, 540)]
    (finding,) = empty_messages.find(observed_run(8, 1, messages=messages, empty=2340, sent_count=300))
    assert finding.words.startswith("2,340 messages carry no bytes, 98 % of them.")
    assert finding.words.endswith(" Most go from rank 3 to rank 7: 1,800.")


def test_a_rank_that_sends_or_gets_them_all_is_named():
    (sends,) = found([(3, 7, 1800, 0, 1800), (3, 3, 600, 0, 600)], neighbours=[(3, 7)])
    assert "They go from rank 3 to 2 ranks, 2 of them without any other message. Most go" in sends.words
    (gets,) = found([(3, 7, 1800, 1, 1790), (4, 7, 600, 1, 590)])
    assert "They go from 2 ranks to rank 7. Most go from rank 3" in gets.words


def test_nearly_all_is_not_all():
    (finding,) = found([(0, 1, 60, 480, 0), (3, 7, 60_000, 0, 60_000)])
    assert "1,000 messages per step carry no bytes, nearly all of them. They go" in finding.words


def test_messages_to_ranks_beyond_the_world_cost_their_senders_alone():
    quick = {"mpi_p2p_time_s": 1e-4, "mpi_wait_time_s": 0.0}
    (finding,) = found([*HALO, (3, 1000, 1800, 0, 1800)], **quick)
    assert finding.saved_s > 0
