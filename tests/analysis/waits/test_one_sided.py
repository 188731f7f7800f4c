# SPDX-License-Identifier: BSD-3-Clause
"""Wait states of one-sided transfers: late posts, late completes, locks, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.call_numbers import CALL
from known_runs.simulated_waits import (
    EXCLUSIVE,
    MEAN,
    SEND,
    SINGLE,
    SYNCHRONISATION,
    WINDOW,
    Network,
    access,
    collective,
    complete,
    compute,
    end_exposure,
    flush,
    lock,
    post,
    recv,
    send,
    simulate,
    step,
    unlock,
)

from perfield.analysis.waits import (
    BOUND,
    EVENT,
    EXACT,
    KINDS,
    UNCERTAIN,
    UNKNOWN,
    critical_path,
    delay_costs,
    find_wait_states,
    gain_of_balance,
)

MS = 1_000_000
NAMES = {number: name for name, number in CALL.items()}
DEFERS = Network(defers=True)


def no_step(step: int) -> bool:
    """Names no step to be logged: all of them are rows."""
    return False


def stated(waits):
    """(rank, cause, call, ms, exactness) of late one-sided partners; not what the network's latency makes."""
    states = waits.states[(waits.states["time_ns"] > 0.01 * MS)]
    states = states[states["kind"] == KINDS.index("late_one_sided")]
    return [
        (
            int(s["rank"]),
            int(s["cause"]),
            NAMES[s["call"]],
            round(float(s["time_ns"]) / MS, 2),
            int(s["exactness"]),
        )
        for s in states
    ]


def waits_of(programs, logged=None, network=None, **options):
    """The states of a simulated run, and all that was found; logged: which steps, None for all."""
    simulation = simulate(programs, network)
    events = simulation.events(logged) if logged else simulation.events()
    waits = find_wait_states(events, n_ranks=len(programs), **options)
    return stated(waits), waits


def event(rank, call, peer, begin, end, **values):
    """An event of a synchronisation or a transfer, in ms."""
    made = np.zeros(1, EVENT)
    made["rank"], made["call"], made["peer"], made["count"] = rank, CALL[call], peer, 1
    made["kind"] = SEND if call in ("put", "get") else SYNCHRONISATION
    made["channel"] = WINDOW ^ 2 if call in ("win_complete", "win_wait") else WINDOW
    made["number"] = 1 if call.startswith("win_") else 0
    made["begun"] = made["wait_begin"] = begin * MS
    made["wait_end"] = end * MS
    for name, value in values.items():
        made[name] = value
    return made


def holds(rank, target, begin, end, exclusive=True, flushes=(), takes=0):
    """A lock that a rank has from `begin` ms until its unlock at `end` ms; takes: for how long it asks."""
    flags = EXCLUSIVE if exclusive else 0
    return [
        event(rank, "lock", target, begin - takes, begin, flags=flags),
        *(event(rank, "flush", target, at, at + 0.1) for at in flushes),
        event(rank, "unlock", target, end, end + 0.1),
    ]


def found(*events, n_ranks=4, **options):
    """The states of some events, and all that was found."""
    waits = find_wait_states(np.concatenate(events), n_ranks=n_ranks, **options)
    return stated(waits), waits


# ---- post, start, complete, wait ----


def late_post():
    return [[compute(10 * MS), post(1), end_exposure()], [access(0), complete()]]


def test_start_waits_for_a_late_post():
    states, waits = waits_of(late_post())
    assert states == [(1, 0, "win_start", 10.0, EXACT)]
    assert waits.coverage.shares()["exact"] == pytest.approx(1)


def test_complete_waits_for_a_late_post_where_start_does_not():
    states, _ = waits_of([late_post()[0], [access(0), compute(4 * MS), complete()]], network=DEFERS)
    assert states == [(1, 0, "win_complete", 6.0, EXACT)]


def test_transfer_waits_for_a_late_post_where_start_does_not():
    states, _ = found(
        event(0, "win_post", 1, 10, 10), event(1, "win_start", 0, 0, 0.1), event(1, "put", 0, 1, 10.2),
        event(1, "win_complete", 0, 11, 11.1), event(1, "put", 0, 12, 13),
    )  # fmt: skip
    assert states == [(1, 0, "put", 9.0, EXACT)]


def test_early_post_makes_nobody_wait():
    states, waits = waits_of([[post(1), end_exposure()], [compute(10 * MS), access(0), complete()]])
    assert states == [(0, 1, "win_wait", 10.0, EXACT)]
    assert waits.coverage.shares()["exact"] == pytest.approx(1)


def test_wait_ends_with_the_last_origin():
    programs = [[post(1, 2, 3), end_exposure()]]
    programs += [[access(0), compute(late * MS), complete()] for late in (4, 20, 7)]
    states, _ = waits_of(programs)
    assert states == [(0, 2, "win_wait", 20.0, EXACT)]


def test_start_waits_for_the_last_of_its_targets():
    programs = [[access(1, 2, 3), complete()]]
    programs += [[compute(late * MS), post(0), end_exposure()] for late in (4, 20, 7)]
    states, _ = waits_of(programs)
    assert [one for one in states if one[0] == 0] == [(0, 2, "win_start", 20.0, EXACT)]


def test_test_that_ends_an_epoch_waits_for_nobody():
    states, waits = found(
        event(0, "win_post", 1, 0, 0), event(1, "win_start", 0, 0, 0), event(1, "win_complete", 0, 10, 10),
        event(0, "win_wait", 1, 12, 12),
    )  # fmt: skip
    assert states == []
    assert sum(waits.coverage.gaps().values()) == 0


def test_both_sides_of_two_ranks_are_matched_apart():
    """Each is origin and target of the other, so their epochs have equal numbers."""
    programs = [[compute(late * MS), post(1 - rank), access(1 - rank), complete(), end_exposure(), step()] * 2
                for rank, late in enumerate((0, 10))]  # fmt: skip
    states, _ = waits_of(programs)
    assert [one for one in states if one[3] > 1] == [(0, 1, "win_start", 10.0, EXACT)] * 2


def test_rows_of_one_epoch_are_as_good_as_a_log():
    assert waits_of(late_post(), no_step)[0] == [(1, 0, "win_start", 10.0, EXACT)]


def test_rows_of_several_epochs_say_nothing():
    programs = [[compute(10 * MS), post(1), end_exposure()] * 2, [access(0), complete()] * 2]
    states, waits = waits_of(programs, no_step)
    assert states == []
    assert waits.coverage.gaps()["unpaired"] == pytest.approx(20 * MS, rel=0.01)


def test_rows_of_several_epochs_make_a_row_beside_them_a_bound():
    """The call that a row of one epoch says of may also have waited for a partner with two."""
    programs = [[compute(10 * MS), post(2), end_exposure()], [post(2), end_exposure()] * 2]
    programs += [[access(0, 1), complete(), access(1), complete()]]
    states, _ = waits_of(programs, no_step)
    assert [one for one in states if one[0] == 2] == [(2, 0, "win_start", 10.0, BOUND)]


def test_rows_of_messages_do_not_touch_epochs():
    programs = [[send(1), send(1), *late_post()[0]], [recv(0), recv(0), *late_post()[1]]]
    assert waits_of(programs, no_step)[0] == [(1, 0, "win_start", pytest.approx(10, abs=0.01), EXACT)]


def test_epochs_of_two_windows_are_kept_apart():
    other = {"channel": WINDOW + 4}
    states, _ = found(
        event(0, "win_post", 1, 10, 10), event(1, "win_start", 0, 0, 10.1),
        event(0, "win_post", 1, 20, 20, **other), event(1, "win_start", 0, 11, 20.1, **other),
    )  # fmt: skip
    assert states == [(1, 0, "win_start", 10.0, EXACT), (1, 0, "win_start", 9.0, EXACT)]


# ---- what is not known, and bad input ----


def test_unmatched_post_leaves_the_start_unexplained():
    states, waits = found(event(0, "win_post", 1, 10, 10, number=2), event(1, "win_start", 0, 0, 10))
    assert states == []
    assert waits.coverage.gaps()["no_partner"] == 10 * MS


@pytest.mark.parametrize("damage", [{"number": 0}, {"channel": 0}, {"peer": -2}, {"peer": 9}])
def test_partner_without_number_name_or_place_in_the_world_is_unexplained(damage):
    """A window on a communicator without a name, too many partners, a group outside the world."""
    start = event(1, "win_start", 0, 0, 10)
    for name, value in damage.items():
        start[name] = value
    states, waits = found(event(0, "win_post", 1, 10, 10), start)
    assert states == []
    assert waits.coverage.gaps()["no_partner"] == 10 * MS


def test_windows_whose_names_clash_say_nothing():
    states, waits = found(
        event(0, "win_post", 1, 10, 10), event(0, "win_post", 1, 30, 30), event(1, "win_start", 0, 0, 10),
    )  # fmt: skip
    assert states == []
    assert waits.coverage.gaps()["clash"] == 10 * MS


def test_window_freed_with_an_open_epoch_keeps_what_began():
    states, _ = found(event(0, "win_post", 1, 10, 10), event(1, "win_start", 0, 0, 10.1))
    assert states == [(1, 0, "win_start", 10.0, EXACT)]


def test_wait_that_ends_before_its_origin_completes_is_a_clash():
    states, waits = found(event(0, "win_wait", 1, 0, 5), event(1, "win_complete", 0, 10, 10))
    assert states == []
    assert waits.coverage.gaps()["clash"] == 5 * MS


def test_start_that_returns_before_the_post_waited_for_nobody():
    states, waits = found(event(0, "win_post", 1, 10, 10), event(1, "win_start", 0, 0, 5))
    assert states == []
    assert sum(waits.coverage.gaps().values()) == 0


def test_epoch_with_oneself_waits_for_nobody():
    states, waits = found(event(0, "win_start", 0, 0, 5), event(0, "win_wait", 0, 6, 9))
    assert states == []
    assert waits.coverage.shares()["exact"] == 1


def test_late_post_shorter_than_the_clocks_uncertainty_accuses_nobody():
    events = simulate(late_post()).events()
    assert stated(find_wait_states(events, [6 * MS, 6 * MS])) == [(1, -1, "win_start", 10.0, UNCERTAIN)]


@pytest.mark.parametrize("stamp", ["begun", "wait_begin", "wait_end"])
def test_unknown_stamps_are_unexplained(stamp):
    unknown = {stamp: UNKNOWN}
    states, _ = found(
        event(0, "win_post", 1, 10, 10, **unknown),
        event(1, "win_start", 0, 0, 10.1, **unknown),
        *holds(2, 0, 3, 9),
        event(3, "lock", 0, 4, 9, **unknown),
    )
    assert states in ([], [(3, 2, "lock", 5.0, EXACT)])


def test_calls_that_synchronise_nothing_are_unexplained():
    states, waits = found(event(0, "win_sync", 1, 0, 5), event(0, "barrier", 1, 5, 7, kind=SYNCHRONISATION))
    assert states == []
    assert waits.coverage.gaps()["other_call"] == 7 * MS


# ---- locks ----


def test_lock_waits_for_its_holder():
    """The rank whose window it is has nothing to do with it."""
    states, _ = waits_of([[lock(2), compute(10 * MS), unlock(2)], [compute(2 * MS), lock(2), unlock(2)], []])
    assert states == [(1, 0, "lock", 8.0, EXACT)]


@pytest.mark.parametrize(("flushes", "call"), [(True, "flush"), (False, "unlock")])
def test_first_call_under_a_lock_waits_where_the_lock_does_not(flushes, call):
    under = [flush(2)] if flushes else []
    programs = [
        [lock(2), *under, compute(10 * MS), unlock(2)],
        [compute(2 * MS), lock(2), *under, unlock(2)],
        [],
    ]
    states, _ = waits_of(programs, network=DEFERS)
    assert states == [(1, 0, call, 8.0, EXACT)]


def test_transfer_waits_where_the_lock_does_not():
    states, _ = found(
        *holds(0, 2, 1, 10, flushes=[2]),
        event(1, "lock", 2, 3, 3.1, flags=EXCLUSIVE),
        event(1, "put", 2, 4, 10.2),
        event(1, "unlock", 2, 11, 11.1),
    )
    assert states == [(1, 0, "put", 6.0, EXACT)]


def test_shared_locks_wait_for_exclusive_ones_alone():
    shared, exclusive = {"exclusive": False}, {"exclusive": True}
    assert found(*holds(0, 2, 1, 10, **shared), *holds(1, 2, 10.2, 11, takes=8, **shared))[0] == []
    for first, second in ((shared, exclusive), (exclusive, shared), (exclusive, exclusive)):
        states, _ = found(*holds(0, 2, 1, 10, **first), *holds(1, 2, 10.2, 11, takes=8, **second))
        assert states == [(1, 0, "lock", 7.8, EXACT)]


def test_lock_waits_for_the_last_of_several_holders():
    states, _ = found(
        *holds(0, 3, 1, 10, exclusive=False),
        *holds(1, 3, 1, 15, exclusive=False),
        *holds(2, 3, 15.2, 16, takes=12),
    )
    assert states == [(2, 1, "lock", pytest.approx(11.8), EXACT)]


def test_locks_of_other_windows_and_targets_do_not_matter():
    states, waits = found(*holds(0, 2, 1, 10), *holds(1, 3, 10.2, 11, takes=8))
    assert states == []
    assert waits.coverage.gaps()["no_holder"] == pytest.approx(8 * MS)
    elsewhere = np.concatenate(holds(0, 2, 1, 10))
    elsewhere["channel"] += 4
    assert found(elsewhere, *holds(1, 2, 10.2, 11, takes=8))[0] == []


def test_a_lock_of_all_waits_for_any_target_and_is_waited_for_by_any():
    everybody = {"target": -1, "exclusive": False}
    states, _ = found(*holds(0, 2, 1, 10), *holds(1, begin=10.2, end=11, takes=8, **everybody))
    assert states == [(1, 0, "lock", 7.8, EXACT)]
    states, _ = found(*holds(0, begin=1, end=10, **everybody), *holds(1, 2, 10.2, 11, takes=8))
    assert states == [(1, 0, "lock", 7.8, EXACT)]
    assert (
        found(*holds(0, begin=1, end=10, **everybody), *holds(1, begin=10.2, end=11, takes=8, **everybody))[0]
        == []
    )


def test_flush_of_one_target_under_a_lock_of_all_waits_for_that_target_alone():
    under = [event(1, "lock", -1, 3, 3.1), event(1, "flush", 2, 4, 12.2), event(1, "unlock", -1, 13, 13.1)]
    states, _ = found(*holds(0, 2, 1, 10, flushes=[2]), *holds(3, 0, 1, 12, flushes=[2]), *under)
    assert states == [(1, 0, "flush", 6.0, EXACT)]
    under[1]["peer"] = -1
    states, _ = found(*holds(0, 2, 1, 10, flushes=[2]), *holds(3, 0, 1, 12, flushes=[2]), *under)
    assert states == [(1, 3, "flush", 8.0, EXACT)]


def test_ranks_wait_for_locks_of_their_own_window():
    assert found(*holds(0, 1, 1, 10), *holds(1, 1, 10.2, 11, takes=8))[0] == [(1, 0, "lock", 7.8, EXACT)]


def test_the_holder_may_return_from_its_unlock_last():
    """It is in its unlock when the other rank gets the lock, and does not run for a while."""
    events = np.concatenate([*holds(0, 2, 1, 10), *holds(1, 2, 10.2, 11, takes=8)])
    events["wait_end"][1] = 30 * MS
    assert found(events)[0] == [(1, 0, "lock", 7.8, EXACT)]


def test_two_ranks_that_wait_in_their_unlock_do_not_wait_for_each_other():
    """Both asked, and the target served them late: nothing shows that the first one had the lock before."""
    events = [
        *(event(0, "lock", 2, 0, 0.1, flags=EXCLUSIVE), event(0, "unlock", 2, 3, 20.1)),
        *(event(1, "lock", 2, 1, 1.1, flags=EXCLUSIVE), event(1, "unlock", 2, 2, 20)),
    ]
    states, waits = found(*events)
    assert states == []
    assert waits.coverage.gaps()["other_call"] > 30 * MS


def test_a_rank_does_not_wait_for_one_that_locked_while_it_was_in_its_unlock():
    """Rank 1 gave the lock back at once, but did not run for a while."""
    events = np.concatenate([*holds(1, 2, 1, 5), *holds(0, 2, 6, 8)])
    events["wait_end"][1] = 20 * MS
    assert found(events)[0] == []


def test_lock_whose_holder_is_not_seen_to_unlock_is_unexplained():
    states, waits = found(holds(0, 2, 1, 10)[0], *holds(1, 2, 10.2, 11, takes=8))
    assert states == []
    assert waits.coverage.gaps()["no_holder"] > 7 * MS
    assert "mostly in locks that no other rank is seen to hold" in waits.coverage.words()


def test_unlock_without_a_lock_is_nobodys():
    """The lock was taken in a step that is not logged, or without a check."""
    assert found(holds(0, 2, 1, 10)[-1], *holds(1, 2, 10.2, 11, takes=8))[0] == []


def test_lock_that_lasts_long_beyond_its_holder_is_a_bound():
    states, _ = found(*holds(0, 2, 1, 4), *holds(1, 2, 20, 21, takes=18))
    assert states == [(1, 0, "lock", 2.0, BOUND)]


def test_cause_is_open_where_clocks_do_not_say_who_unlocked_last():
    events = np.concatenate(
        [
            *holds(0, 3, 1, 10, exclusive=False),
            *holds(1, 3, 1, 10.5, exclusive=False),
            *holds(2, 3, 10.7, 11, takes=8),
        ]
    )
    assert stated(find_wait_states(events, [MS] * 4)) == [(2, -1, "lock", pytest.approx(7.8), EXACT)]
    assert stated(find_wait_states(events, [MS / 10] * 4)) == [(2, 1, "lock", pytest.approx(7.8), EXACT)]


def test_many_locks_take_no_long_time():
    """One rank waits while others lock thousands of times: of these, only the last ones are looked at."""
    pairs = [one for n in range(3_000) for one in holds(n % 2, 2, 1 + n, 1.5 + n, exclusive=False)]
    states, _ = found(*pairs, *holds(3, 2, 3_001, 3_002, takes=3_000.5))
    assert [one[:3] for one in states] == [(3, 1, "lock")]


# ---- what it costs ----


def test_cost_of_a_late_post_begins_where_the_target_computed():
    """Rank 1 waits for the post of rank 0, and rank 2 for rank 1."""
    programs = [
        [collective("barrier"), compute(10 * MS), post(1), end_exposure(), step()],
        [collective("barrier"), access(0), complete(), post(2), end_exposure(), step()],
        [collective("barrier"), access(1), complete(), step()],
    ]
    events = simulate(programs).events()
    states = find_wait_states(events, n_ranks=3).states
    assert delay_costs(events, states).by_rank(3)[0] == pytest.approx(20 * MS, rel=0.01)
    assert critical_path(events, states).by_rank(3)[0] == pytest.approx(10 * MS, rel=0.01)
    assert gain_of_balance(events, states) == pytest.approx(10 * MS * 2 / 3, rel=0.01)


def test_cost_of_a_lock_begins_where_its_holder_computed():
    programs = [
        [collective("barrier"), lock(2), compute(10 * MS), unlock(2), step()],
        [collective("barrier"), compute(MS), lock(2), unlock(2), step()],
        [collective("barrier"), step()],
    ]
    events = simulate(programs).events()
    states = find_wait_states(events, n_ranks=3).states
    assert delay_costs(events, states).by_rank(3)[0] == pytest.approx(9 * MS, rel=0.01)
    assert critical_path(events, states).by_rank(3)[0] == pytest.approx(10 * MS, rel=0.01)
    # Ranks that compute equally long wait as long for the lock: (10 + 1) / 3 of each, then of the next.
    assert gain_of_balance(events, states) > 0


def test_one_row_is_exact_and_several_are_none():
    """Rows as streams have them."""
    single = [event(0, "win_post", 1, 10, 10, flags=SINGLE), event(1, "win_start", 0, 0, 10.1, flags=SINGLE)]
    assert found(*single)[0] == [(1, 0, "win_start", 10.0, EXACT)]
    several = [one.copy() for one in single]
    for one in several:
        one["flags"], one["count"] = MEAN, 2
    assert found(*several)[0] == []
