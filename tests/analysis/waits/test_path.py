# SPDX-License-Identifier: BSD-3-Clause
"""The critical path lies where the work is that decided, and replays say what other work would take."""

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
    random_programs,
    recv,
    send,
    simulate,
    step,
    wait,
)

from perfield.analysis.waits import (
    EVENT,
    STATE,
    critical_path,
    efficiency,
    find_wait_states,
    gain_of_balance,
    replay,
)

MS = 1_000_000


def found_in(programs):
    simulation = simulate(programs)
    events = simulation.events()
    return simulation, events, find_wait_states(events, np.zeros(len(programs))).states


def test_path_jumps_to_whom_ranks_wait_for():
    # Rank 1 computes 10 ms, then rank 0 does 5 ms with its message.
    _, events, states = found_in(
        [
            [collective("barrier"), recv(1), compute(5 * MS), collective("barrier"), step()],
            [collective("barrier"), compute(10 * MS), send(0), collective("barrier"), step()],
        ]
    )
    path = critical_path(events, states)
    assert path.by_rank(2) / MS == pytest.approx([5, 10], abs=0.1)


def test_path_of_each_step_lies_on_its_slowest_rank():
    programs = [
        [
            part
            for number in range(6)
            for part in (compute(10 * MS if number % 3 == rank else MS), collective("allreduce"), step())
        ]
        for rank in range(3)
    ]
    parts = critical_path(*found_in(programs)[1:]).parts
    long = {(int(p["step"]), int(p["rank"])) for p in parts if p["computing_ns"] > 5 * MS}
    assert long >= {(number, number % 3) for number in range(1, 6)}


@pytest.mark.parametrize("order", [1, -1])
def test_work_before_a_call_belongs_to_the_last_step_of_its_messages(order):
    programs = [
        [irecv(1, "a"), irecv(1, "b"), compute(10 * MS), wait("a", "b"), collective("barrier"), step()],
        [send(0), send(0), collective("barrier"), step()],
    ]
    _, events, _ = found_in(programs)
    events["step"] = 1
    events["step"][np.flatnonzero(events["kind"] == 1)[0]] = 0
    events = events[::order].copy()
    parts = critical_path(events, find_wait_states(events, np.zeros(2)).states).parts
    (longest,) = parts[parts["computing_ns"] > 5 * MS]
    assert (longest["step"], longest["rank"]) == (1, 0)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_path_takes_as_long_as_the_program(seed):
    simulation, events, states = found_in(random_programs(random.Random(seed), 5, 4))
    begins = [events["begun"][events["rank"] == rank].min() for rank in np.unique(events["rank"])]
    last = max(simulation.ended, key=lambda ended: ended.wait_end).wait_end
    time_ns = critical_path(events, states).time_ns.sum()
    assert last - max(begins) - 1 <= time_ns <= last - min(begins) + 1


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_a_replay_of_the_same_work_takes_as_long(seed):
    simulation, events, states = found_in(random_programs(random.Random(seed), 5, 4))
    again = replay(events, states, np.ones(simulation.n_ranks))
    n = len(again.end_ns)
    np.testing.assert_allclose(again.end_ns, again.measured_ns[:n], atol=1)


def imbalanced():
    return [
        [collective("barrier")]
        + [
            p
            for _ in range(3)
            for p in (compute((4 if rank == 1 else 2) * MS), collective("barrier"), step())
        ]
        for rank in range(4)
    ]


def test_balance_gains_what_the_slowest_rank_does_beyond_the_mean():
    # 4 ms against a mean of 2.5 ms, three times.
    assert gain_of_balance(*found_in(imbalanced())[1:]) / MS == pytest.approx(3 * 1.5, abs=0.1)


def test_balance_of_one_region_gains_its_part():
    _, events, states = found_in(imbalanced())
    region = np.array([0, 3, 0, 0]) * MS  # of one region in three steps: 1 ms of the 4 ms in each
    assert gain_of_balance(events, states, region) / MS == pytest.approx(3 * 0.75, abs=0.1)
    with pytest.raises(ValueError, match="region_ns has 1 values"):
        gain_of_balance(events, states, [1.0])


def test_balance_of_equal_ranks_gains_nothing():
    programs = [
        [part for _ in range(3) for part in (compute(MS), collective("barrier"), step())] for _ in range(3)
    ]
    assert gain_of_balance(*found_in(programs)[1:]) == pytest.approx(0, abs=0.05 * MS)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_missing_rank_is_in_no_mean(missing):
    """Ranks that compute 5, 5 and 11 ms, with one more that is lost; whichever number that has."""
    programs = [[] for _ in range(4)]
    others = [rank for rank in range(4) if rank != missing]
    for rank, ms in zip(others, (5, 5, 11)):
        meet = collective("barrier", communicator="known")
        programs[rank] = [meet, compute(ms * MS), meet, step()]
    simulation = simulate(programs, communicators={"known": others})
    events = simulation.events()
    states = find_wait_states(events, n_ranks=4).states
    assert gain_of_balance(events, states) == pytest.approx(4 * MS, rel=0.01)
    # Rank 3 too, of which nothing is known.
    found = replay(events, states, np.ones(6))
    assert found.measured_ns.shape == found.end_ns.shape == found.computing_ns.shape == (6,)
    assert not found.measured_ns[[missing, 4, 5]].any()


def test_efficiency_separates_imbalance_from_serialisation():
    balance = efficiency(*found_in(imbalanced())[1:])
    assert balance.load_balance == pytest.approx(2.5 / 4, abs=0.02)
    assert balance.serialisation > 0.95
    assert balance.parallel == pytest.approx(balance.load_balance * balance.serialisation * balance.transfer)
    # Ranks work one after another: equal loads, but each waits for the one before.
    relay = [
        [collective("barrier"), *([recv(rank - 1)] if rank else []), compute(5 * MS)]
        + ([send(rank + 1)] if rank < 3 else [])
        + [collective("barrier"), step()]
        for rank in range(4)
    ]
    in_turn = efficiency(*found_in(relay)[1:])
    assert in_turn.load_balance == pytest.approx(1, abs=0.02)
    assert in_turn.serialisation == pytest.approx(0.25, abs=0.02)


def test_nothing_known_has_no_path():
    events, states = np.zeros(0, EVENT), np.zeros(0, STATE)
    assert critical_path(events, states).time_ns.sum() == 0
    assert efficiency(events, states) is None
    assert gain_of_balance(events, states) == 0


def test_too_few_factors_are_refused():
    _, events, states = found_in([[collective("barrier"), step()]] * 2)
    with pytest.raises(ValueError, match="expected one for each of the 2 ranks"):
        replay(events, states, [1.0])
