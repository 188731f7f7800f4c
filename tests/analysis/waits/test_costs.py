# SPDX-License-Identifier: BSD-3-Clause
"""Waiting is booked where it began, in schedules whose costs are computed by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_runs.simulated_waits import (
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

from perfield.analysis.waits import (
    BLOCKED,
    COST,
    EVENT,
    EXACT,
    NOT_IN_USER_MODE,
    STATE,
    Sampled,
    by_function,
    by_region,
    critical_path,
    delay_costs,
    find_wait_states,
)

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
    at: dict[tuple[int, int], float] = {}
    for row, ns in zip(found.costs, found.time_ns):
        place = int(row["step"]), int(row["rank"])
        at[place] = at.get(place, 0) + ns / MS
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


@pytest.mark.parametrize("first", [-(2**63), 2**63 - 2])
def test_steps_at_the_ends_of_their_numbers_cost_as_much(first):
    """As in files that are damaged; a delay is followed across steps, but not beyond the first."""
    simulation = simulate([[recv(1), step()] * 2, [compute(10 * MS), send(0), step()] * 2])
    events = simulation.events()
    states = find_wait_states(events, np.zeros(2)).states
    expected = delay_costs(events, states).costs
    events["step"] += first
    found = delay_costs(events, find_wait_states(events, np.zeros(2)).states).costs
    expected["step"] += first
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("peer", [-(2**31), -1, 2, 2**31 - 1])
def test_messages_of_ranks_beyond_the_world_cost_nobody_anything(peer):
    events = simulate([[recv(1), step()], [compute(10 * MS), send(0), step()]]).events()
    events["peer"] = peer
    states = find_wait_states(events, np.zeros(2)).states
    assert not len(states) and not len(delay_costs(events, states).costs)


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


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_order_of_events_does_not_change_costs_and_path(seed):
    chance = random.Random(seed)
    ordered = simulate(random_programs(chance, 5, 40)).events()
    shuffled = ordered[np.array(chance.sample(range(len(ordered)), len(ordered)), int)]
    costs, paths = [], []
    for events in (ordered, shuffled):
        states = find_wait_states(events, np.zeros(5)).states
        found = delay_costs(events, states)
        costs.append(np.zeros((40, 5)))
        np.add.at(costs[-1], (found.costs["step"], found.costs["rank"]), found.time_ns)
        paths.append(critical_path(events, states).parts)
    np.testing.assert_allclose(costs[0], costs[1], rtol=1e-9, atol=1e-3)
    for name in ("step", "rank", "computing_ns"):
        np.testing.assert_allclose(paths[0][name], paths[1][name], rtol=1e-9, atol=1e-3)


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


def divided(programs, regions):
    """Costs of a simulated program by region: ms by (rank, region), and what is left, ms by rank."""
    simulation = simulate(programs)
    events = simulation.events()
    costs = delay_costs(events, find_wait_states(events, np.zeros(len(programs))).states).costs
    of_regions = np.zeros((simulation.n_steps, len(regions), len(programs)))
    for (rank, number), computed in simulation.computed.items():
        for name, ns in computed.items():
            of_regions[number, regions.index(name), rank] = ns
    parts, left = by_region(costs, costs["step"], of_regions)
    assert parts.sum() + left.sum() == pytest.approx(
        costs["computing_ns"].sum() + costs["communicating_ns"].sum()
    )
    found = parts.sum(axis=0) / MS
    return {
        (rank, name): found[number, rank]
        for rank in range(len(programs))
        for number, name in enumerate(regions)
        if found[number, rank] > 0.05
    }, left.sum(axis=0) / MS


def seen(programs):
    """The same behind a barrier, since computation before a rank's first event is not seen."""
    return [[collective("barrier"), *program] for program in programs]


def test_a_cost_begins_in_the_regions_in_which_the_rank_was_longer_than_who_waited():
    # Rank 1 is 6 ms longer in a and 2 ms in b, and 3 ms shorter in c.
    programs = [
        [compute(MS, "a"), compute(MS, "b"), compute(4 * MS, "c"), recv(1), step()],
        [compute(7 * MS, "a"), compute(3 * MS, "b"), compute(MS, "c"), send(0), step()],
    ]
    found, left = divided(seen(programs), ["a", "b", "c"])
    assert found == pytest.approx({(1, "a"): 5 * 0.75, (1, "b"): 5 * 0.25}, abs=0.05)
    assert left.sum() < 0.05


def test_a_rank_is_compared_with_who_waits_for_it_and_not_with_others():
    # Ranks 0 and 1 are long in a, as 2 and 3 are in b. Rank 1 is late by its time in c.
    programs = [
        [compute(20 * MS, "a"), recv(1), step()],
        [compute(20 * MS, "a"), compute(5 * MS, "c"), send(0), step()],
        [compute(30 * MS, "b"), recv(3), step()],
        [compute(30 * MS, "b"), send(2), step()],
    ]
    assert divided(seen(programs), ["a", "b", "c"])[0] == pytest.approx({(1, "c"): 5}, abs=0.05)


def test_a_delay_of_an_earlier_step_is_divided_by_the_regions_of_that_step():
    # Rank 1 is late by 10 ms in a of the first step, and says rank 0 in the third, where all are in b.
    programs = [[collective("barrier")] for _ in range(3)]
    for number in range(3):
        for rank, program in enumerate(programs[:2]):
            program.append(compute(11 * MS if (rank, number) == (1, 0) else MS, "b" if number else "a"))
            program.append(isend(2, f"{number}"))  # nobody waits for it
            program += [step()] * (number < 2)
        programs[2] += [compute(30 * MS, "c"), step()]
    programs[0] += [recv(1), step()]
    programs[1] += [send(0), step()]
    found, _ = divided(programs, ["a", "b", "c"])
    assert found[1, "a"] == pytest.approx(10, rel=0.2) and found.get((1, "b"), 0) < 2


def test_what_only_the_order_of_events_explains_is_divided_by_time():
    # Both compute as long in each region; rank 1 before it sends, rank 0 behind its receive.
    programs = [
        [collective("barrier"), recv(1), compute(6 * MS, "a"), compute(2 * MS, "b"), step()],
        [collective("barrier"), compute(6 * MS, "a"), compute(2 * MS, "b"), send(0), step()],
    ]
    found, left = divided(programs, ["a", "b"])
    assert found == pytest.approx({(1, "a"): 6, (1, "b"): 2}, abs=0.1)
    assert left.sum() < 0.05


def test_delays_that_no_region_is_long_enough_for_are_left():
    programs = seen([[recv(1), step()], [compute(10 * MS), compute(MS, "a"), send(0), step()]])
    simulation = simulate(programs)
    events = simulation.events()
    costs = delay_costs(events, find_wait_states(events, np.zeros(2)).states).costs
    of_regions = np.array([[[0, 1.0 * MS]]])  # of the 11 ms, a region is known to take 1 ms
    parts, left = by_region(costs, costs["step"], of_regions)
    assert parts[0, 0, 1] / MS == pytest.approx(1, abs=0.05) and left[0, 1] / MS == pytest.approx(10, abs=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_planted_delays_are_found_in_their_regions(seed):
    """In each step six ranks are late by chance; a delay of 20 ms is planted in one rank and region."""
    chance, regions, n_ranks = random.Random(seed), ["a", "b", "c"], 6
    programs = [[] for _ in range(n_ranks)]
    truth = {}
    for _ in range(30):
        late, where = chance.randrange(n_ranks), chance.choice(regions)
        for rank, program in enumerate(programs):
            for region in regions:
                planted = (rank, region) == (late, where)
                program.append(compute(chance.uniform(0.8, 1.2) * MS + planted * 20 * MS, region))
            program += [irecv((rank + 1) % n_ranks, "in"), isend((rank - 1) % n_ranks, "out")]
            program += [wait("in", "out"), collective("allreduce"), step()]
        truth[late, where] = truth.get((late, where), 0) + 20 * (n_ranks - 1)
    found, _ = divided(programs, regions)
    assert sum(min(ms, truth.get(at, 0)) for at, ms in found.items()) > 0.93 * sum(found.values())
    assert sum(min(ms, found.get(at, 0)) for at, ms in truth.items()) > 0.93 * sum(truth.values())


def test_costs_of_ranks_that_regions_do_not_have_are_refused():
    costs = np.zeros(1, COST)
    costs["rank"] = 2
    with pytest.raises(ValueError, match="cost 0 is of rank 2 in frame 0, which of_regions_ns does not have"):
        by_region(costs, [0], np.zeros((1, 1, 2)))
    with pytest.raises(ValueError, match="a frame for each of the 1 costs"):
        by_region(costs, [], np.zeros((1, 1, 3)))
    with pytest.raises(ValueError, match=r"expected perfield\.analysis\.waits\.COST"):
        by_region(np.zeros(1), [0], np.zeros((1, 1, 3)))


def sampled(cpu, variances, wall, files=(0, 0), delayed=(np.nan, np.nan)):
    """What samples say of two ranks, whose functions are all there are."""
    cpu, variances = np.array(cpu, float), np.array(variances, float)
    of_all = cpu.sum(axis=0), variances.sum(axis=0)
    return Sampled(cpu, variances, *of_all, *(np.array(each, float) for each in (wall, files, delayed)))


def cost_of_rank_1(ns, longer_ns, communicating_ns=0):
    """Rank 0 waits for rank 1."""
    costs = np.zeros(1, COST)
    costs["rank"], costs["waiting"] = 1, 0
    costs["computing_ns"], costs["longer_ns"], costs["communicating_ns"] = ns, longer_ns, communicating_ns
    return costs


def test_costs_are_divided_among_functions_only_as_far_as_samples_are_sure():
    """Rank 0 waits 100 for rank 1, whose samples show 60 more in f, 30 +- 20 more in g, and less in h."""
    cpu = [[10, 70], [50, 80], [9, 3]]
    found = sampled(cpu, [[50, 50], [200, 200], [1, 1]], np.sum(cpu, axis=0))
    parts, left = by_function(cost_of_rank_1(100, 120, 7), found)
    assert parts == pytest.approx(np.array([[0, 50], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]]))
    assert left == pytest.approx([0, 57])
    parts, left = by_function(np.zeros(0, COST), found)
    assert not parts.any() and not left.any()


def test_function_has_all_the_time_that_a_busy_processor_makes_of_it():
    """Each second of CPU time takes 4 s in both ranks."""
    parts, left = by_function(cost_of_rank_1(800, 800), sampled([[100, 300]], [[1, 1]], [400, 1200]))
    assert parts == pytest.approx(np.array([[0, 800], [0, 0], [0, 0], [0, 0]]))
    assert left == pytest.approx([0, 0])


def test_rank_whose_processor_was_taken_away_has_its_delay_in_no_function():
    parts, left = by_function(cost_of_rank_1(200, 200), sampled([[100, 100]], [[1, 1]], [100, 300]))
    assert parts == pytest.approx(np.array([[0, 0], [0, 0], [0, 0], [0, 200]]))
    assert left == pytest.approx([0, 0])


@pytest.mark.parametrize("delayed, of_pus", [([0, 150], 150), ([30, 150], 120), ([150, 150], 0)])
def test_wait_for_a_processor_is_reported_from_time_in_the_kernel(delayed, of_pus):
    """Rank 1 takes 200 longer for the same CPU time. The kernel says how long ranks waited for a PU."""
    found = sampled([[100, 100]], [[1, 1]], [200, 400], delayed=delayed)
    assert found.not_in_user_mode == BLOCKED
    parts, left = by_function(cost_of_rank_1(200, 200), found)
    assert parts == pytest.approx(np.array([[0, 0], [0, 0], [0, of_pus], [0, 200 - of_pus]]))
    assert left == pytest.approx([0, 0])


def test_unknown_wait_for_a_processor_is_reported_from_nothing():
    found = sampled([[100, 100]], [[1, 1]], [200, 400], delayed=[np.nan, 150])
    assert found.not_in_user_mode == NOT_IN_USER_MODE
    parts, _ = by_function(cost_of_rank_1(200, 200), found)
    assert parts == pytest.approx(np.array([[0, 0], [0, 0], [0, 0], [0, 200]]))


def test_rank_that_was_in_files_longer_has_its_delay_there():
    found = sampled([[100, 100]], [[1, 1]], [100, 100], files=(5, 55))
    parts, left = by_function(cost_of_rank_1(60, 60), found)
    assert parts == pytest.approx(np.array([[0, 0], [0, 50], [0, 0], [0, 0]]))
    assert left == pytest.approx([0, 10])
