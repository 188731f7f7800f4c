# SPDX-License-Identifier: BSD-3-Clause
"""Wait states: kinds, causes and times of simulated programs, bounds of rows, and bad input."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from compiled.call_numbers import CALL
from hypothesis import example, given, settings
from hypothesis import strategies as st
from known_runs.simulated_waits import (
    Network,
    collective,
    compute,
    irecv,
    isend,
    random_programs,
    recv,
    send,
    sendrecv,
    simulate,
    start,
    step,
    wait,
)

from perfield.analysis.waits import (
    BOUND,
    EVENT,
    EXACT,
    KINDS,
    UNCERTAIN,
    UNKNOWN,
    bound_costs,
    critical_path,
    delay_costs,
    find_wait_states,
)
from perfield.analysis.waits.coverage import NO_EVENT
from twins.wait_states_twin import found_states, wait_states_by_definition

MS = 1_000_000
LARGE = 100_000  # bytes, above the simulated network's eager limit


def no_step(step: int) -> bool:
    """Names no step to be logged: all of them are rows."""
    return False


def waits_of(programs, logged=None, **options):
    """(rank, cause, kind, ms, exactness) of a simulated run; logged: which steps, None for all."""
    simulation = simulate(programs)
    events = simulation.events(logged) if logged else simulation.events()
    waits = find_wait_states(events, n_ranks=len(programs), **options)
    return stated(waits), waits


def stated(waits):
    return [
        (
            int(s["rank"]),
            int(s["cause"]),
            KINDS[s["kind"]],
            round(float(s["time_ns"]) / MS, 2),
            int(s["exactness"]),
        )
        for s in waits.states
    ]


def exchange(rank, others, bytes=8):
    """Irecv, Isend and Waitall with other ranks."""
    receives = [irecv(other, f"r{other}") for other in others]
    sends = [isend(other, f"s{other}", bytes) for other in others]
    return [*receives, *sends, wait(*(one.requests[0] for one in receives + sends))]


# ---- each kind ----


def test_recv_waits_for_late_sender():
    found, _ = waits_of([[compute(10 * MS), send(1), step()], [recv(0), step()]])
    assert found == [(1, 0, "late_sender", 10.0, EXACT)]


def event(rank, peer, call, kind, begun, end, number=1, count=1, flags=0, step=0, channel=77):
    """One row of EVENT whose call waits from its begin, in ms."""
    row = np.zeros(1, EVENT)
    row["step"], row["rank"], row["peer"], row["call"], row["kind"] = step, rank, peer, CALL[call], kind
    row["channel"], row["number"], row["count"], row["flags"] = channel, number, count, flags
    row["most_in_call"] = 1
    row["begun"] = row["wait_begin"] = round(begun * MS)
    row["wait_end"] = round(end * MS)
    return row


SENDS, RECEIVES, SYNCHRONISES = 0, 1, 3
MEAN = 4  # a row of several
OF_HISTORY = 1 << 31  # a number that is a hash


def test_probe_waits_for_the_sender_of_the_message_that_it_finds():
    events = np.concatenate(
        [
            event(1, 0, "send", SENDS, 10, 10.1),
            event(0, 1, "probe", SYNCHRONISES, 0, 10.2),
            event(0, 1, "recv", RECEIVES, 10.3, 10.4),
        ]
    )
    waits = find_wait_states(events, n_ranks=2)
    assert stated(waits) == [(0, 1, "late_sender", 10.0, EXACT)]
    assert waits.coverage.shares()["exact"] == 1
    # The critical path leads to the sender, which has begun before.
    events = np.concatenate([events, event(1, 0, "send", SENDS, 0, 0.1, number=2)])
    waits = find_wait_states(events, n_ranks=2)
    assert critical_path(events, waits.states).parts["rank"].tolist() == [0, 1]


def test_probe_of_a_message_without_a_number_is_unexplained():
    events = np.concatenate(
        [event(1, 0, "send", SENDS, 10, 10.1), event(0, 1, "iprobe", SYNCHRONISES, 0, 10.2, number=0)]
    )
    waits = find_wait_states(events, n_ranks=2)
    assert stated(waits) == []
    assert waits.coverage.gaps()["no_partner"] == pytest.approx(10.3 * MS)  # both ends


def test_rows_of_several_probes_are_bounds():
    events = np.concatenate(
        [
            event(1, 0, "send", SENDS, 10, 10.1, number=5, count=3, flags=MEAN),
            event(0, 1, "probe", SYNCHRONISES, 4, 10.2, number=5, count=3, flags=MEAN),
            event(0, 1, "recv", RECEIVES, 10.3, 10.4, number=5, count=3, flags=MEAN),
        ]
    )
    assert stated(find_wait_states(events, n_ranks=2)) == [(0, 1, "late_sender", 18.0, BOUND)]
    events["number"][1] = 4  # other messages
    assert stated(find_wait_states(events, n_ranks=2)) == []


def test_numbers_without_order_do_not_pair_several_rows():
    def rows(last_sent):
        return np.concatenate(
            [
                event(1, 0, "send", SENDS, 10, 10.1, number=OF_HISTORY | 9, count=2, flags=MEAN),
                *last_sent,
                event(0, 1, "recv", RECEIVES, 4, 10.4, number=OF_HISTORY | 9, count=2, flags=MEAN),
            ]
        )

    assert stated(find_wait_states(rows([]), n_ranks=2)) == [(0, 1, "late_sender", 12.0, BOUND)]
    # Which of two rows holds the last message, nobody knows.
    other = event(1, 0, "isend", SENDS, 12, 12.1, number=OF_HISTORY | 5, count=2, flags=MEAN)
    events = rows([other])
    events["count"][2] = 4
    assert stated(find_wait_states(events, n_ranks=2)) == []


def test_wait_counts_from_the_wait_not_from_the_post():
    found, _ = waits_of(
        [[compute(10 * MS), send(1), step()], [irecv(0, "r"), compute(4 * MS), wait("r"), step()]]
    )
    assert found == [(1, 0, "late_sender", 6.0, EXACT)]


def test_sender_that_came_first_causes_no_wait():
    found, waits = waits_of([[send(1), step()], [compute(10 * MS), recv(0), step()]])
    assert found == []
    assert waits.coverage.shares()["exact"] == 1


def test_waitall_waits_for_the_latest_of_six():
    late = {1: 3, 2: 20, 3: 7, 4: 0, 5: 19, 6: 1}
    programs = [exchange(0, range(1, 7))]
    programs += [[compute(late[rank] * MS), *exchange(rank, [0])] for rank in range(1, 7)]
    found, _ = waits_of(programs)
    assert [one for one in found if one[0] == 0] == [(0, 2, "late_sender", 20.0, EXACT)]


def test_sendrecv_waits_for_the_rank_it_receives_from():
    programs = [
        [compute(10 * MS * (rank == 2)), sendrecv((rank + 1) % 3, (rank - 1) % 3)] for rank in range(3)
    ]
    found, _ = waits_of(programs)
    assert found == [(0, 2, "late_sender", 10.0, EXACT)]


def test_large_blocking_send_waits_for_late_receiver():
    found, waits = waits_of([[send(1, LARGE), step()], [compute(10 * MS), recv(0), step()]])
    assert found == [(0, 1, "late_receiver", 10.0, EXACT)]
    assert waits.states["protocol"].tolist() == [2]


def test_wait_for_large_isend_waits_for_late_receiver():
    found, _ = waits_of([[isend(1, "s", LARGE), compute(2 * MS), wait("s")], [compute(10 * MS), recv(0)]])
    assert found == [(0, 1, "late_receiver", 8.0, EXACT)]


def test_ssend_waits_for_late_receiver_whatever_its_size():
    found, _ = waits_of([[send(1, call="ssend")], [compute(10 * MS), recv(0)]])
    assert found == [(0, 1, "late_receiver", 10.0, EXACT)]


def test_late_partner_of_large_exchange_is_a_late_sender():
    """Its sends and receives are late both; the receive of the other rank waits for the send."""
    programs = [[isend(1, "s", LARGE), irecv(1, "r"), wait("s", "r")], [compute(10 * MS)]]
    programs[1] += [isend(0, "s", LARGE), irecv(0, "r"), wait("s", "r")]
    found, _ = waits_of(programs)
    assert found == [(0, 1, "late_sender", 10.0, EXACT)]


def test_late_receive_beside_early_message_is_a_late_receiver():
    programs = [
        [irecv(1, "r"), isend(1, "s", LARGE), wait("r", "s")],
        [isend(0, "s"), compute(10 * MS), recv(0), wait("s")],
    ]
    found, _ = waits_of(programs)
    assert found == [(0, 1, "late_receiver", 10.0, EXACT)]


def either_way():
    """A Waitall that lasts 9 ms longer than its receiver is late: a transfer, or a rendezvous."""
    events = np.zeros(4, EVENT)
    events[0] = (0, 0, 1, CALL["isend"], 0, 0, 1, 1, 1, 0, 0, 8, 0, 0, 10 * MS)
    events[1] = (0, 0, 1, CALL["waitall"], 1, 0, 2, 1, 1, 0, 0, 8, 0, 0, 10 * MS)
    events[2] = (0, 1, 0, CALL["recv"], 1, 0, 1, 1, 1, 0, 0, 8, MS, MS, 2 * MS)
    events[3] = (0, 1, 0, CALL["send"], 0, 0, 2, 1, 1, 0, 0, 1, -MS, -MS, -MS + 100)
    return events


def test_receiver_that_may_not_have_blocked_the_sender_is_not_accused():
    waits = find_wait_states(either_way(), n_ranks=2)
    assert stated(waits) == []
    assert waits.coverage.gaps()["either_way"] == MS
    assert "a late receiver may or may not have blocked the sender" in waits.coverage.words()


@pytest.mark.parametrize(("ends_ms", "expected"), [(3, []), (30, [(0, 1, "late_receiver", 1.0, EXACT)])])
def test_messages_of_the_same_size_show_whether_it_was_eager(ends_ms, expected):
    """Another MPI_Send of that size ends before its receive is posted, or just after that."""
    more = np.zeros(2, EVENT)
    more[0] = (1, 0, 1, CALL["send"], 0, 0, 9, 1, 1, 0, 0, 8, 20 * MS, 20 * MS, (20 + ends_ms) * MS)
    more[1] = (1, 1, 0, CALL["recv"], 1, 0, 9, 1, 1, 0, 0, 8, 49 * MS, 49 * MS, 50 * MS)
    waits = find_wait_states(np.concatenate([either_way(), more]), n_ranks=2)
    assert [one for one in stated(waits) if one[3] < 20] == expected


@pytest.mark.parametrize(
    ("call", "kind"), [("barrier", "barrier"), ("allreduce", "n_to_n"), ("fence", "late_one_sided")]
)
def test_all_wait_for_the_last_of_a_collective(call, kind):
    programs = [[compute(late * MS), collective(call)] for late in (0, 4, 10)]
    found, _ = waits_of(programs)
    assert found == [(0, 2, kind, 10.0, EXACT), (1, 2, kind, 6.0, EXACT)]


def test_members_of_a_smaller_communicator_wait_for_its_last():
    programs = [[compute(10 * MS), collective("barrier")]]
    programs += [[compute(late * MS), collective("barrier", communicator="odd")] for late in (0, 4)]
    simulation = simulate([[compute(99 * MS)], *programs[1:]], communicators={"odd": [1, 2]})
    waits = find_wait_states(simulation.events(), n_ranks=3)
    assert stated(waits) == [(1, 2, "barrier", 4.0, EXACT)]


def test_all_but_the_root_wait_for_a_late_root():
    programs = [[compute(late * MS), collective("bcast", root=1)] for late in (0, 10, 12)]
    found, _ = waits_of(programs)
    assert found == [(0, 1, "late_broadcast", 10.0, EXACT)]


def test_root_waits_for_the_last_it_gathers_from():
    programs = [[compute(late * MS), collective("gather", root=1)] for late in (10, 2, 6)]
    found, _ = waits_of(programs)
    assert found == [(1, 0, "early_reduce", 8.0, EXACT)]


def test_nonblocking_collective_waits_in_its_wait():
    programs = [
        [compute(late * MS), start("iallreduce", "c"), compute(3 * MS), wait("c")] for late in (0, 10)
    ]
    found, _ = waits_of(programs)
    assert found == [(0, 1, "n_to_n", 7.0, EXACT)]


def test_calls_that_test_never_wait():
    events = simulate([[compute(10 * MS), send(1)], [recv(0)]]).events()
    events["call"][events["kind"] == 1] = CALL["testall"]
    waits = find_wait_states(events, n_ranks=2)
    assert stated(waits) == []
    assert waits.coverage.shares()["exact"] == 1


def test_waitsome_waits_for_the_first_of_its_messages():
    programs = [[irecv(1, "a"), irecv(2, "b"), wait("a", "b")], [compute(4 * MS), send(0)]]
    events = simulate([*programs, [compute(10 * MS), send(0)]]).events()
    events["call"][events["kind"] == 1] = CALL["waitsome"]
    assert stated(find_wait_states(events, n_ranks=3)) == [(0, 1, "late_sender", 4.0, EXACT)]


def test_messages_to_oneself_wait_for_nobody():
    found, waits = waits_of([[irecv(0, "r"), isend(0, "s"), wait("r", "s")]])
    assert found == []
    assert waits.coverage.shares()["exact"] == 1


# ---- rows: steps that are not logged ----


def test_row_of_one_message_is_exact():
    found, _ = waits_of([[compute(10 * MS), send(1), step()], [recv(0), step()]], no_step)
    assert found == [(1, 0, "late_sender", 10.0, EXACT)]


def test_row_of_several_late_messages_is_a_bound():
    programs = [[compute(3 * MS), send(1)] * 4, [recv(0)] * 4]
    found, waits = waits_of(programs, no_step)
    assert found == [(1, 0, "late_sender", 12.0, BOUND)]
    assert waits.coverage.shares()["bounded"] == pytest.approx(1, abs=0.01)
    assert "by lower bounds" in waits.coverage.words()


def test_alternating_lateness_cancels_in_rows_and_shows_in_logs():
    late, early = [compute(10 * MS), send(1)], [send(1), compute(10 * MS)]
    programs = [[*late, *early, step()], [recv(0), compute(10 * MS), recv(0), step()]]
    assert waits_of(programs)[0] == [(1, 0, "late_sender", 10.0, EXACT)]
    found, waits = waits_of(programs, no_step)
    assert found == []
    assert waits.coverage.shares()["unexplained"] > 0.99
    assert "mostly in sums of several messages" in waits.coverage.words()


def test_alternating_allreduces_cancel_in_rows_and_show_in_logs():
    first = [compute(10 * MS), collective("allreduce"), collective("allreduce")]
    second = [collective("allreduce"), compute(10 * MS), collective("allreduce")]
    assert [one[3] for one in waits_of([first, second])[0]] == [pytest.approx(10, abs=0.01)] * 2
    found, _ = waits_of([first, second], no_step)
    assert sum(one[3] for one in found) <= 20
    assert all(one[4] == BOUND for one in found)


def test_row_of_several_collectives_bounds_the_wait_for_the_last():
    programs = [[compute(late * MS), collective("allreduce")] * 3 for late in (0, 2, 5)]
    found, _ = waits_of(programs, no_step)
    assert found == [(0, 2, "n_to_n", 15.0, BOUND), (1, 2, "n_to_n", 9.0, BOUND)]


def test_rows_of_several_broadcasts_with_one_root_bound_the_wait():
    programs = [[compute(late * MS), collective("bcast", root=1)] * 2 for late in (0, 5)]
    found, _ = waits_of(programs, no_step)
    assert found == [(0, 1, "late_broadcast", pytest.approx(10, abs=0.02), BOUND)]


def test_rows_of_broadcasts_with_changing_roots_say_nothing():
    programs = [
        [compute(late * MS), collective("bcast", root=0), collective("bcast", root=1)] for late in (0, 5)
    ]
    found, waits = waits_of(programs, no_step)
    assert found == []
    assert waits.coverage.gaps()["clash"] > 0


def test_bound_of_waitalls_is_that_of_one_partner_not_of_their_sum():
    programs = [exchange(0, range(1, 7)) * 3]
    programs += [[compute(5 * MS), *exchange(rank, [0])] * 3 for rank in range(1, 7)]
    simulation = simulate(programs)
    waits = find_wait_states(simulation.events(no_step), n_ranks=7)
    truth = simulation.waited()[0, 0].sum()
    (state,) = (one for one in waits.states if one["rank"] == 0)
    assert 0.9 * truth < state["time_ns"] <= truth


def bundle(rank, other, n, late_ms=0):
    """n messages to and from another rank, all of which end in one Waitall."""
    names = [f"{end}{tag}" for tag in range(n) for end in "rs"]
    begins = [(irecv(other, f"r{tag}", tag), isend(other, f"s{tag}", 8, tag)) for tag in range(n)]
    return [compute(late_ms * MS), *(one for pair in begins for one in pair), wait(*names)]


def test_messages_of_one_partner_in_one_waitall_wait_once():
    programs = [[*bundle(0, 1, 8), step()], [*bundle(1, 0, 8, late_ms=5), step()]]
    for logged in (None, no_step):
        found, waits = waits_of(programs, logged)
        assert found == [(0, 1, "late_sender", pytest.approx(5, abs=0.02), EXACT)]
        blocked = waits.coverage.covered
        assert blocked["blocked_ns"][blocked["rank"] == 0].tolist() == [pytest.approx(5 * MS, rel=0.01)]


def test_row_of_waitalls_of_several_messages_each_bounds_all_of_them():
    programs = [bundle(0, 1, 4) * 3 + [step()], bundle(1, 0, 4, late_ms=5) * 3 + [step()]]
    (state,), _ = waits_of(programs, no_step)
    assert state == (0, 1, "late_sender", pytest.approx(15, abs=0.1), BOUND)


def test_row_of_one_call_is_a_bound_where_messages_came_one_by_one():
    """The mean of begins lies far before the end of the call."""
    sender = [one for tag in range(4) for one in (compute(5 * MS), send(0, tag=tag))]
    receiver = [irecv(1, f"r{tag}", tag) for tag in range(4)]
    receiver.append(wait(*(one.requests[0] for one in receiver)))
    (state,), _ = waits_of([receiver, sender], no_step)
    assert state == (0, 1, "late_sender", pytest.approx(12.5, abs=0.02), BOUND)


def test_waiting_in_rows_of_one_call_is_followed_to_where_it_began():
    """Each rank of a ring gets four messages of its left neighbour in a Waitall; rank 2 computes longest."""
    programs: list[list] = [[] for _ in range(4)]
    for _ in range(12):
        for rank, program in enumerate(programs):
            program.append(compute((6 if rank == 2 else 1) * MS))
            receives = [irecv((rank - 1) % 4, f"r{tag}", tag) for tag in range(4)]
            sends = [send((rank + 1) % 4, 8, tag) for tag in range(4)]
            program += [*receives, *sends, wait(*(one.requests[0] for one in receives)), step()]
    events = simulate(programs).events(no_step)
    by_rank = delay_costs(events, find_wait_states(events, n_ranks=4).states).by_rank(4)
    assert by_rank[2] > 0.9 * by_rank.sum() > 0


def test_row_that_does_not_say_its_calls_may_be_one_call():
    events = simulate([bundle(0, 1, 4), bundle(1, 0, 4, late_ms=5)]).events(no_step)
    events["most_in_call"] = 0
    assert [one[3] for one in stated(find_wait_states(events, n_ranks=2))] == [pytest.approx(5, abs=0.02)]


def test_nonblocking_collectives_of_one_waitall_wait_once():
    names = [f"c{n}" for n in range(5)]
    programs = [
        [compute(late * MS), *(start("iallreduce", name) for name in names), wait(*names)] for late in (0, 10)
    ]
    found, _ = waits_of(programs, no_step)
    assert found == [(0, 1, "n_to_n", pytest.approx(10, abs=0.02), BOUND)]


def test_synchronous_sends_of_one_waitall_wait_once():
    sends = [isend(1, f"s{n}", 8, n, "issend") for n in range(4)]
    programs = [
        [*sends, wait(*(one.requests[0] for one in sends))],
        [compute(6 * MS), *(recv(0, n) for n in range(4))],
    ]
    (state,), _ = waits_of(programs, no_step)
    assert state == (0, 1, "late_receiver", pytest.approx(6, abs=0.05), EXACT)


def test_one_partner_with_several_messages_makes_the_others_bounds():
    """Nobody knows whether the several messages were in the same call, and later."""
    programs = [
        [irecv(1, "a"), irecv(2, "b", 1), irecv(2, "c", 2), wait("a", "b"), wait("c")],
        [compute(10 * MS), send(0)],
        [compute(12 * MS), send(0, tag=1), send(0, tag=2)],
    ]
    simulation = simulate(programs)
    waits = find_wait_states(simulation.events(no_step), n_ranks=3)
    assert stated(waits) != []
    assert all(one[4] == BOUND for one in stated(waits))
    assert waits.waited([0]).sum() <= simulation.waited().sum()


def test_rows_that_count_other_messages_are_not_compared():
    """Each step's last message arrives in the next step."""
    sender = [compute(5 * MS), send(1), send(1), step()] * 3
    receiver = [recv(0), step(), recv(0), recv(0), step(), recv(0), recv(0), step(), recv(0)]
    found, waits = waits_of([sender, receiver], no_step)
    assert all(one[4] == EXACT for one in found)
    assert waits.coverage.gaps()["unpaired"] > 0


def test_message_that_crosses_step_ends_is_matched_by_its_number():
    sender = [step(), compute(10 * MS), send(1)]
    receiver = [irecv(0, "r"), step(), step(), wait("r"), step()]
    for logged in (lambda step: True, no_step, lambda step: step == 1):
        found, waits = waits_of([sender, receiver], logged)
        assert found == [(1, 0, "late_sender", 10.0, EXACT)]
        assert waits.states["step"].tolist() == [2]


# ---- bad input ----


def test_receive_without_its_send_is_unexplained():
    events = simulate([[compute(10 * MS), send(1)], [recv(0)]]).events()
    waits = find_wait_states(events[events["kind"] == 1], n_ranks=2)
    assert stated(waits) == []
    assert waits.coverage.shares()["unexplained"] == 1
    assert waits.coverage.gaps()["no_partner"] == pytest.approx(10 * MS, rel=0.01)


def test_waitall_with_an_unknown_partner_is_a_bound():
    programs = [
        exchange(0, [1, 2]),
        [compute(5 * MS), *exchange(1, [0])],
        [compute(9 * MS), *exchange(2, [0])],
    ]
    events = simulate(programs).events()
    waits = find_wait_states(events[events["rank"] != 2], n_ranks=3)
    assert [one for one in stated(waits) if one[0] == 0] == [(0, 1, "late_sender", 5.0, BOUND)]


def test_log_that_lost_events_gives_bounds():
    events = simulate([[compute(10 * MS), send(1)], [recv(0)]]).events()
    events["flags"] |= 16
    assert stated(find_wait_states(events, n_ranks=2)) == [(1, 0, "late_sender", 10.0, BOUND)]


@pytest.mark.parametrize("column", ["number", "channel"])
def test_message_without_a_place_is_unexplained(column):
    events = simulate([[compute(10 * MS), send(1)], [recv(0)]]).events()
    events[column] = 0
    waits = find_wait_states(events, n_ranks=2)
    assert stated(waits) == []
    assert waits.coverage.gaps()["no_partner"] > 9 * MS


@pytest.mark.parametrize("column", ["begun", "wait_begin", "wait_end"])
def test_unknown_stamps_say_nothing(column):
    events = simulate([[compute(10 * MS), send(1)], [recv(0)]]).events()
    events[column] = UNKNOWN
    assert stated(find_wait_states(events, n_ranks=2)) == []


def test_two_messages_that_claim_one_place_say_nothing():
    events = simulate([[compute(10 * MS), send(1), send(1)], [recv(0), recv(0)]]).events()
    events["number"] = 1
    waits = find_wait_states(events, n_ranks=2)
    assert stated(waits) == []
    assert waits.coverage.gaps()["clash"] > 9 * MS


def test_receive_that_ended_before_its_send_began_says_nothing():
    events = simulate([[compute(10 * MS), send(1)], [recv(0)]]).events()
    for name in ("begun", "wait_begin", "wait_end"):
        events[name][events["rank"] == 0] += 50 * MS
    waits = find_wait_states(events, n_ranks=2)
    assert stated(waits) == []
    assert waits.coverage.gaps()["clash"] > 9 * MS


def test_incomplete_collective_is_a_bound_without_a_cause():
    programs = [[compute(late * MS), collective("allreduce")] for late in (0, 4, 10)]
    events = simulate(programs).events()
    waits = find_wait_states(events[events["rank"] != 2], n_ranks=3)
    assert stated(waits) == [(0, -1, "n_to_n", 4.0, BOUND)]
    assert waits.coverage.gaps()["incomplete"] > 5 * MS


def test_collective_of_unknown_size_is_a_bound():
    events = simulate([[compute(late * MS), collective("allreduce")] for late in (0, 4)]).events()
    events["size"] = 0
    assert stated(find_wait_states(events, n_ranks=2)) == [(0, 1, "n_to_n", 4.0, BOUND)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda events: events.__setitem__("size", 2),  # three members
        lambda events: events["rank"].__setitem__(1, 0),  # two claim one place
        lambda events: events["call"].__setitem__(1, CALL["allreduce"]),
        lambda events: events["size"].__setitem__(1, 4),
    ],
)
def test_communicators_whose_names_clash_say_nothing(damage):
    events = simulate([[compute(late * MS), collective("barrier")] for late in (0, 4, 10)]).events()
    damage(events)
    waits = find_wait_states(events, n_ranks=3)
    assert stated(waits) == []
    assert waits.coverage.gaps()["clash"] > 0


def test_barrier_that_somebody_left_too_early_says_nothing():
    """Two communicators of one name and size, of which each half is there."""
    events = simulate([[compute(late * MS), collective("barrier")] for late in (0, 4, 10)]).events()
    events["wait_end"][0] = MS
    waits = find_wait_states(events, n_ranks=3)
    assert stated(waits) == []


def test_wait_shorter_than_the_clocks_uncertainty_accuses_nobody():
    events = simulate([[compute(10 * MS), send(1)], [recv(0)]]).events()
    waits = find_wait_states(events, [6 * MS, 6 * MS])
    assert stated(waits) == [(1, -1, "late_sender", 10.0, UNCERTAIN)]
    assert waits.states["cause_event"].tolist() == [-1]
    assert waits.sums().size == 0
    assert waits.coverage.shares()["uncertain"] == pytest.approx(1, abs=0.01)


def test_longer_wait_states_its_uncertainty():
    events = simulate([[compute(10 * MS), send(1)], [recv(0)]]).events()
    waits = find_wait_states(events, [MS, 2 * MS])
    assert stated(waits) == [(1, 0, "late_sender", 10.0, EXACT)]
    assert waits.states["uncertainty_ns"].tolist() == [3 * MS]


@pytest.mark.parametrize("unknown", [np.nan, np.inf])
def test_clock_of_unknown_error_accuses_nobody(unknown):
    events = simulate([[compute(10 * MS), send(1)], [recv(0)]]).events()
    assert stated(find_wait_states(events, [0, unknown])) == [(1, -1, "late_sender", 10.0, UNCERTAIN)]


def test_ranks_that_share_a_clock_are_certain():
    events = simulate([[compute(10 * MS), send(1)], [recv(0)]]).events()
    waits = find_wait_states(events, [50 * MS, 50 * MS], clock=[3, 3])
    assert stated(waits) == [(1, 0, "late_sender", 10.0, EXACT)]


def test_cause_is_open_where_clocks_do_not_say_who_came_last():
    """Others than the last waited surely; for whom is not sure, and the table says -1."""
    events = simulate([[compute(late * MS), collective("barrier")] for late in (0, 10, 10.5)]).events()
    waits = find_wait_states(events, [MS] * 3)
    assert stated(waits)[0] == (0, -1, "barrier", 10.5, EXACT)
    assert events["rank"][waits.states["cause_event"][0]] == 2


def test_bounds_leave_out_what_the_clocks_allow():
    programs = [[compute(3 * MS), send(1)] * 4, [recv(0)] * 4]
    events = simulate(programs).events(no_step)
    assert stated(find_wait_states(events, [MS, MS])) == [(1, 0, "late_sender", 4.0, BOUND)]


def test_ranks_outside_the_run_are_left_out():
    events = simulate([[compute(10 * MS), send(1)], [recv(0)]]).events()
    assert stated(find_wait_states(events, [0.0])) == []
    events["rank"], events["kind"] = -7, 200
    assert stated(find_wait_states(events, n_ranks=2)) == []


def test_no_events_give_no_states():
    waits = find_wait_states(np.zeros(0, EVENT), n_ranks=3)
    assert (waits.states.size, waits.sums().size, waits.pairs().size) == (0, 0, 0)
    assert waits.coverage.words() == "No rank was blocked in MPI."


def test_events_of_another_dtype_are_refused():
    with pytest.raises(ValueError, match=r"expected perfield\.analysis\.waits\.EVENT"):
        find_wait_states(np.zeros(3), n_ranks=1)


@pytest.mark.parametrize(("uncertainty", "clock"), [([[0.0]], None), ([0.0, 0.0], [1]), ([0.0], ["a"])])
def test_arrays_of_other_lengths_are_refused(uncertainty, clock):
    with pytest.raises(ValueError, match="need"):
        find_wait_states(np.zeros(3, EVENT), uncertainty, clock)


# ---- sums ----


def test_sums_add_up_by_rank_kind_and_cause():
    programs = [
        [compute(10 * MS), send(1), step(), collective("barrier"), step()],
        [recv(0), step(), compute(5 * MS), collective("barrier"), step()],
    ]
    events = simulate(programs).events()
    before = events.copy()
    waits = find_wait_states(events, n_ranks=2)
    assert (events == before).all()
    ms = {(int(s["step"]), int(s["rank"]), KINDS[s["kind"]]): s["time_ns"] / MS for s in waits.sums()}
    assert ms == {
        (0, 1, "late_sender"): pytest.approx(10),
        (1, 0, "barrier"): pytest.approx(5, abs=0.01),
    }
    assert [(one["rank"], one["cause"]) for one in waits.pairs()] == [(1, 0), (0, 1)]
    assert not waits.pairs()["is_bound"].any()
    np.testing.assert_allclose(waits.waited([0, 1]) / MS, [[0, 10], [5, 0]], atol=0.01)
    np.testing.assert_allclose(waits.waited([1, 7], ["barrier"]) / MS, [[5, 0], [0, 0]], atol=0.01)
    np.testing.assert_allclose(waits.waited_for([0, 1]) / MS, [[10, 0], [0, 5]], atol=0.01)


def test_words_say_all_shares_and_the_main_reason():
    covered = find_wait_states(either_way(), n_ranks=2).coverage
    assert covered.words() == (
        "Of the time in blocking MPI calls, 91 % is explained exactly and 9 % is unexplained, "
        "mostly where a late receiver may or may not have blocked the sender."
    )
    assert covered.shares(mpi_time_ns=22 * MS)["unexplained"] == pytest.approx(0.545, abs=0.01)
    assert covered.words(mpi_time_ns=22 * MS).endswith(f"mostly {NO_EVENT}.")


# ---- random programs ----


def simulated(chance):
    network = Network(defers=chance.random() < 0.5)
    return simulate(random_programs(chance, chance.randint(2, 6), 4), network)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_logs_show_the_simulated_waits(seed):
    simulation = simulated(random.Random(seed))
    events = simulation.events()
    waits = find_wait_states(events, n_ranks=simulation.n_ranks)
    gaps = waits.coverage.gaps()
    for reason in ("either_way", "no_holder", "other_call"):  # of large messages and of locks
        gaps.pop(reason)
    assert sum(gaps.values()) == 0
    transfer = 2 * (simulation.network.latency_ns + LARGE * simulation.network.ns_per_byte)
    truth = {(one.rank, one.wait_begin): one for one in simulation.waits}
    for state in waits.states:
        one = truth.pop((state["rank"], events["wait_begin"][state["event"]]), None)
        reported = 0 if one is None else one.time_ns
        # Whether a message was a rendezvous cannot be seen where a transfer takes as long.
        assert state["time_ns"] == pytest.approx(reported, rel=0.05, abs=transfer)
        if one is None:
            continue
        if state["cause"] == -1:
            assert state["uncertainty_ns"] > 0
        elif state["cause"] != one.cause and (state["time_ns"] == reported or state["exactness"] == BOUND):
            pass  # two came in the same ns, or another may have come later
        elif reported > 20 * transfer:
            assert (state["cause"], KINDS[state["kind"]]) == (one.cause, one.kind)
    assert all(one.time_ns <= transfer for one in truth.values())


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32), every=st.sampled_from([2, 3, 1000]))
def test_bounds_of_rows_never_exceed_the_simulated_waits(seed, every):
    simulation = simulated(random.Random(seed))
    events = simulation.events(lambda step: step % every == every - 1)
    waits = find_wait_states(events, n_ranks=simulation.n_ranks)
    truth = simulation.waited()
    for state in waits.states[waits.states["exactness"] == BOUND]:
        same = waits.states[(waits.states["step"] == state["step"]) & (waits.states["rank"] == state["rank"])]
        bounds = same[same["exactness"] == BOUND]
        # The truth counts a partner that sent and posted late from its send, which may be a little earlier.
        late_receivers = bounds["time_ns"][bounds["kind"] == KINDS.index("late_receiver")].sum()
        most = truth[state["step"], state["rank"]].sum() + 0.05 * late_receivers
        assert bounds["time_ns"].sum() <= most


@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 2**32), every=st.sampled_from([1, 2, 1000]), reported=st.booleans())
def test_ranks_wait_no_longer_than_their_calls_last(seed, every, reported):
    """In each step and rank, with any number of messages in a call, and in rows that do not say calls."""
    simulation = simulated(random.Random(seed))
    events = simulation.events(lambda step: step % every == every - 1)
    if not reported:
        events["most_in_call"] = 0
    waits = find_wait_states(events, n_ranks=simulation.n_ranks)
    calls = {(one.step, one.rank, one.wait_begin, one.wait_end) for one in simulation.ended}
    in_mpi = np.zeros((simulation.n_steps + 1, simulation.n_ranks))
    for step_, rank, begin, end in calls:
        in_mpi[step_, rank] += end - begin
    blocked = np.zeros_like(in_mpi)
    covered = waits.coverage.covered
    blocked[covered["step"], covered["rank"]] = covered["blocked_ns"]
    waited = waits.waited(np.arange(len(in_mpi)))
    assert (waited <= blocked * (1 + 1e-9) + 1e-3).all()
    assert (blocked <= in_mpi * (1 + 1e-9) + 1e-3).all()
    costs = delay_costs(events, waits.states)
    caused = costs.time_ns.sum() + bound_costs(waits.states)["computing_ns"].sum()
    assert caused <= waited.sum() * (1 + 1e-9) + 1e-3


def damaged(events, chance):
    """Lose some events and spoil some values of others."""
    events = events[np.array([chance.random() < 0.9 for _ in events], bool)]
    for _ in range(chance.randint(0, 6) if events.size else 0):
        here, there = chance.randrange(len(events)), chance.randrange(len(events))
        name = chance.choice(
            ["number", "channel", "peer", "rank", "count", "size", "flags", "bytes", "begun"]
        )
        value = {"number": 0, "size": 0, "flags": 16, "begun": UNKNOWN}.get(name, events[name][there])
        events[name][here] = value if chance.random() < 0.3 else events[name][there]
    return events


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_core_agrees_with_the_definitions(seed):
    chance = random.Random(seed)
    simulation = simulated(chance)
    n_ranks, every = simulation.n_ranks, chance.choice([1, 2, 3, 1000])
    offsets = [chance.choice([0, 0, 500, -2_000, 3 * MS]) for _ in range(n_ranks)]
    events = simulation.events(lambda step: step % every == every - 1, chance.choice([None, offsets]))
    if chance.random() < 0.5:
        events = damaged(events, chance)
    uncertainty = [chance.choice([0, 0, 100, 1_000, np.nan]) for _ in range(n_ranks)]
    clock = chance.choice([None, [chance.randrange(2) for _ in range(n_ranks)]])
    waits = find_wait_states(events, uncertainty, clock)
    found, expected = found_states(waits.states), wait_states_by_definition(events, uncertainty, clock)
    assert [dataclasses.replace(one, time_ns=0) for one in found] == [
        dataclasses.replace(one, time_ns=0) for one in expected
    ]
    np.testing.assert_allclose(
        [one.time_ns for one in found], [one.time_ns for one in expected], rtol=1e-9, atol=1
    )
    covered = waits.coverage.covered
    parts = [covered[name] for name in ("exact_ns", "bounded_ns", "uncertain_ns")]
    parts.append(covered["gap_ns"].sum(axis=1))
    assert all((part >= -1e-3).all() for part in parts)
    np.testing.assert_allclose(sum(parts), covered["blocked_ns"], rtol=1e-9, atol=1e-3)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), n_steps=st.sampled_from([4, 60]))
@example(seed=60, n_steps=60)
def test_order_of_events_does_not_matter(seed, n_steps):
    chance = random.Random(seed)
    simulation = simulate(random_programs(chance, chance.randint(2, 6), n_steps))
    events = simulation.events(lambda step: step % 2 == 0)
    order = np.array(chance.sample(range(len(events)), len(events)), int)
    ordered, shuffled = (find_wait_states(one, n_ranks=6) for one in (events, events[order]))
    for one in (ordered, shuffled):
        one.states.sort(order=["step", "rank", "kind", "time_ns", "cause", "exactness"])
    for name in ("step", "rank", "cause", "kind", "exactness", "time_ns"):
        assert (ordered.states[name] == shuffled.states[name]).all()
