# SPDX-License-Identifier: BSD-3-Clause
"""Waiting is booked where it began, in schedules whose costs are computed by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_waits import (
    collective,
    compute,
    irecv,
    isend,
    random_programs,
    recv,
    send,
    sendrecv,
    simulate,
    step,
    wait,
)

from perfield.analysis.waits import EVENT, EXACT, STATE, by_region, delay_costs, find_wait_states

MS = 1_000_000
SLACK = 0.05 * MS  # what messages and calls take


def costs_of(programs, **options):
    """Costs (rank -> ms, (step, rank) -> ms) and all that was waited, in ms."""
    simulation = simulate(programs)
    events = simulation.events()
    states = find_wait_states(events, np.zeros(len(programs))).states
    found = delay_costs(events, states, **options)
    waited = states["time_ns"][states["exactness"] == EXACT].sum()
    assert found.time_ns.sum() + found.unbooked_ns == pytest.approx(states["time_ns"].sum())
    at = {(int(row["step"]), int(row["rank"])): ns / MS for row, ns in zip(found.costs, found.time_ns)}
    return found.by_rank(len(programs)) / MS, at, waited / MS


def test_a_late_sender_pays_for_who_waits():
    by_rank, _, waited = costs_of([[recv(1), step()], [compute(10 * MS), send(0), step()]])
    assert waited == pytest.approx(10, abs=0.1)
    assert by_rank == pytest.approx([0, waited])


def test_a_chain_is_booked_to_its_begin():
    # 0 waits for 1, 1 for 2 and 2 for 3, which computes 10 ms.
    programs = [
        [collective("barrier"), recv(1), step()],
        [collective("barrier"), recv(2), send(0), step()],
        [collective("barrier"), recv(3), send(1), step()],
        [collective("barrier"), compute(10 * MS), send(2), step()],
    ]
    by_rank, _, waited = costs_of(programs)
    assert waited == pytest.approx(30, abs=0.1)
    assert by_rank == pytest.approx([0, 0, 0, 30], abs=0.1)


def ring(n_ranks: int, n_steps: int, late: int):
    """Each rank hears of its left neighbour in each step; rank 0 is late in one."""
    programs = []
    for rank in range(n_ranks):
        program = []
        for number in range(n_steps):
            program.append(compute(MS + (rank == 0 and number == late) * 20 * MS))
            if rank < n_ranks - 1:
                program.append(send(rank + 1))
            if rank:
                program += [irecv(rank - 1, "left"), wait("left")]
            program.append(step())
        programs.append(program)
    return programs


def test_a_delay_through_ten_steps_is_booked_to_the_first():
    by_rank, at, waited = costs_of(ring(11, 14, late=1))
    assert waited > 9 * 20
    assert by_rank[0] == pytest.approx(waited, rel=0.02)
    assert at[1, 0] == pytest.approx(waited, rel=0.02)


def test_delays_are_followed_over_so_many_steps_only():
    _, near, waited = costs_of(ring(11, 14, late=1), followed=1)
    assert sum(near.values()) == pytest.approx(waited)
    assert near.get((1, 0), 0) < 0.5 * waited


def test_two_causes_share_the_cost():
    # Rank 0 waits 10 ms for rank 1, and then 10 ms more for rank 2.
    programs = [
        [recv(1), recv(2), step()],
        [compute(10 * MS), send(0), step()],
        [compute(20 * MS), send(0), step()],
    ]
    by_rank, _, _ = costs_of(programs)
    assert by_rank == pytest.approx([0, 10, 10], abs=0.1)


def test_alternating_lateness_is_booked_to_both():
    programs = [
        [sendrecv(1, 1), compute(10 * MS), sendrecv(1, 1), step()],
        [compute(10 * MS), sendrecv(0, 0), sendrecv(0, 0), step()],
    ]
    by_rank, _, waited = costs_of(programs)
    assert waited == pytest.approx(20, abs=0.1)
    assert by_rank == pytest.approx([10, 10], abs=0.1)


def test_lateness_in_turn_is_booked_to_each():
    # In the first step rank 0 is late, in the second rank 1; both meet in each.
    programs = []
    for rank in range(2):
        program = [collective("barrier")]
        for number in range(2):
            program += [compute((rank == number) * 10 * MS), irecv(1 - rank, "in"), isend(1 - rank, "out")]
            program += [wait("in", "out"), step()]
        programs.append(program)
    by_rank, _, waited = costs_of(programs)
    assert waited == pytest.approx(20, abs=0.1)
    assert by_rank == pytest.approx([10, 10], abs=0.1)


def test_late_rank_at_a_barrier_pays_for_all_others():
    programs = [[compute((rank == 2) * 10 * MS), collective("barrier"), step()] for rank in range(4)]
    by_rank, _, _ = costs_of(programs)
    assert by_rank == pytest.approx([0, 0, 30, 0], abs=0.1)


def test_waiting_that_both_shared_is_not_passed_on():
    # Ranks 0 and 1 wait 40 ms for rank 2 together; then rank 1 computes 10 ms longer than rank 0.
    late = [compute(40 * MS), send(0), send(1), step()]
    programs = [[recv(2), recv(1), step()], [recv(2), compute(10 * MS), send(0), step()], late]
    by_rank, _, _ = costs_of(programs)
    assert by_rank[1] == pytest.approx(10, abs=0.1)
    assert by_rank[2] == pytest.approx(80, abs=0.1)


def test_balanced_ranks_cost_nothing():
    programs = [[compute(5 * MS), collective("allreduce"), step()] for _ in range(4)]
    by_rank, _, waited = costs_of(programs)
    assert waited < 0.1
    assert by_rank == pytest.approx([0] * 4, abs=0.1)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_costs_of_any_program_add_up_to_its_waiting(seed):
    simulation = simulate(random_programs(random.Random(seed), 5, 4))
    events = simulation.events()
    states = find_wait_states(events, np.zeros(simulation.n_ranks)).states
    found = delay_costs(events, states)
    assert (found.time_ns >= 0).all()
    assert found.time_ns.sum() + found.unbooked_ns == pytest.approx(states["time_ns"].sum(), rel=1e-9, abs=1)


def test_nothing_known_costs_nothing():
    found = delay_costs(np.zeros(0, EVENT), np.zeros(0, STATE))
    assert found.time_ns.sum() == found.unbooked_ns == 0


def test_states_of_other_events_are_refused():
    states = np.zeros(1, STATE)
    states["event"] = 3
    with pytest.raises(ValueError, match="names an event beyond the 0 events"):
        delay_costs(np.zeros(0, EVENT), states)
    with pytest.raises(ValueError, match="expected at least 1 step"):
        delay_costs(np.zeros(0, EVENT), np.zeros(0, STATE), followed=0)


def test_costs_are_divided_by_what_regions_take_beyond_the_mean():
    # Rank 1 computes 3 s more than the mean in the first region, 1 s more in the second.
    computing = [[1.0, 7.0], [2.0, 4.0]]
    assert by_region([0.0, 8.0], computing).sum(axis=0) == pytest.approx([0, 8])
    assert by_region([0.0, 8.0], computing)[:, 1] == pytest.approx([6, 2])
    assert by_region([4.0, 0.0], computing)[:, 0] == pytest.approx([4 / 3, 8 / 3])
    with pytest.raises(ValueError, match=r"expected \(n_regions, 2\)"):
        by_region([0.0, 8.0], [[1.0, 2.0, 3.0]])
