# SPDX-License-Identifier: BSD-3-Clause
"""Idle waves are found where they began, at their speed, and nothing is found where none is."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.simulated_waves import T_COMM, T_COMP, chain, mesh, simulated

from perfield.analysis.idle_waves import idle_waves

PERIOD = T_COMP + T_COMM
DELAY = 50 * PERIOD


def waves(n_steps, n_ranks, edges, delays=(), **more):
    steps = simulated(n_steps, n_ranks, edges, delays, **more)
    del steps["collective_s"]
    return idle_waves(*steps.values(), *edges)


def the_wave(*arguments, **more):
    (wave,) = waves(*arguments, **more)
    return wave


def test_delay_in_a_one_directional_chain_moves_one_rank_per_step():
    wave = the_wave(120, 8, chain(8), [(2, 40, DELAY)], noise=0.02)
    assert (wave.rank, wave.step) == (2, 40)
    assert wave.delay_periods == pytest.approx(50, rel=0.03), "periods grow by the noise"
    (front,) = wave.fronts
    assert (front.direction, front.ranks.tolist()) == ("forward", [3, 4, 5, 6, 7])
    assert front.step.tolist() == [40, 41, 42, 43, 44], "the next rank waits in the same step"
    assert front.speed_per_step == pytest.approx(1)
    assert front.speed_per_s == pytest.approx(1 / PERIOD, rel=0.1), "noise lengthens a period"
    assert (front.ending, front.next_rank, front.against) == ("edge", -1, False)
    assert wave.chance < 1e-9


def test_wave_without_noise_keeps_the_whole_delay():
    (front,) = the_wave(60, 8, chain(8), [(2, 30, DELAY)]).fronts
    np.testing.assert_allclose(front.waiting_s, DELAY, rtol=1e-9)
    assert front.decay_length > 1e6
    np.testing.assert_allclose(front.time_s, PERIOD * np.arange(31, 36), atol=1e-9)


def test_delay_in_a_chain_of_both_directions_moves_both_ways():
    wave = the_wave(120, 18, chain(18, (1, -1)), [(5, 40, DELAY)], noise=0.02)
    forward, backward = wave.fronts
    assert (forward.direction, backward.direction) == ("forward", "backward")
    assert (forward.ranks.tolist(), backward.ranks.tolist()) == (list(range(6, 18)), [4, 3, 2, 1, 0])
    assert forward.speed_per_step == pytest.approx(1)
    assert backward.speed_per_step == pytest.approx(1)


def test_rendezvous_sends_a_wave_against_the_messages():
    wave = the_wave(120, 12, chain(12), [(6, 40, DELAY)], noise=0.02, rendezvous=True)
    forward, backward = wave.fronts
    assert (forward.against, backward.against) == (False, True)
    assert backward.ranks.tolist() == [5, 4, 3, 2, 1, 0]
    assert backward.speed_per_step == pytest.approx(1)


def test_messages_to_lower_ranks_make_a_backward_wave():
    (front,) = the_wave(120, 12, chain(12, (-1,)), [(9, 40, DELAY)], noise=0.02).fronts
    assert (front.direction, front.against, front.ranks[-1]) == ("backward", False, 0)


def test_partners_two_ranks_away_double_the_speed():
    (front,) = the_wave(120, 19, chain(19, (1, 2)), [(2, 40, DELAY)], noise=0.02).fronts
    assert front.speed_per_step == pytest.approx(2)
    assert front.speed_per_s == pytest.approx(2 / PERIOD, rel=0.1)


def test_sides_with_partners_at_other_distances_have_other_speeds():
    forward, backward = the_wave(120, 19, chain(19, (1, -1, -2)), [(8, 40, DELAY)], noise=0.02).fronts
    assert (forward.speed_per_step, backward.speed_per_step) == (pytest.approx(1), pytest.approx(2))
    assert (forward.against, backward.against) == (False, False)


def test_wave_in_a_one_directional_ring_goes_around():
    (front,) = the_wave(120, 8, chain(8, ring=True), [(5, 40, DELAY)], noise=0.02).fronts
    assert front.ranks.tolist() == [6, 7, 0, 1, 2, 3, 4]
    assert front.distance.tolist() == list(range(1, 8))
    assert (front.ending, front.next_rank) == ("went around", 5)


def test_two_sides_of_a_wave_in_a_ring_meet():
    forward, backward = the_wave(120, 8, chain(8, (1, -1), ring=True), [(5, 40, DELAY)]).fronts
    assert len(forward.ranks) + len(backward.ranks) == 7
    assert (forward.ending, backward.ending) == ("went around", "went around")


def test_two_waves_that_meet_end_there():
    first, second = waves(120, 18, chain(18, (1, -1)), [(3, 40, DELAY), (13, 42, DELAY)])
    assert {first.rank, second.rank} == {3, 13}
    lower, upper = (first, second) if first.rank == 3 else (second, first)
    forward, backward = lower.fronts[0], upper.fronts[1]
    assert (forward.ending, backward.ending) == ("met another wave", "met another wave")
    assert (forward.ranks[-1], backward.ranks[-1]) == (9, 10)


def test_rank_that_was_late_before_absorbs_a_wave():
    found = waves(200, 18, chain(18), [(14, 40, 0.3), (5, 120, 0.2)], noise=0.02)
    assert [(wave.rank, wave.step) for wave in found] == [(14, 40), (5, 120)]
    (front,) = found[1].fronts
    assert (front.ending, front.next_rank) == ("absorbed", 14)


def test_several_waves_are_found_one_by_one():
    planted = [(4, 140, 0.5), (2, 90, 0.3), (0, 30, 0.1)]
    found = waves(200, 12, chain(12), planted, noise=0.05)
    assert [(wave.rank, wave.step) for wave in found] == [(4, 140), (2, 90), (0, 30)]


def test_distance_in_a_mesh_is_counted_in_hops():
    (front,) = the_wave(120, 20, mesh(4, 5), [(6, 40, DELAY)], noise=0.02).fronts
    assert (front.direction, len(front.ranks)) == ("outward", 19)
    assert front.speed_per_step == pytest.approx(1)
    of_rank = dict(zip(front.ranks.tolist(), front.distance.tolist()))
    assert (of_rank[1], of_rank[5], of_rank[19]) == (1, 1, 5)
    assert front.ending == "edge"


def test_slow_rank_absorbs_a_wave():
    slow = T_COMP + 0.002 * (np.arange(18) == 14)  # it lags 24 periods behind by step 120
    wave = the_wave(400, 18, chain(18), [(5, 120, 20 * PERIOD)], compute=slow, noise=0.02)
    (front,) = wave.fronts
    assert (wave.rank, wave.step, front.ending, front.next_rank) == (5, 120, "absorbed", 14)


def test_noise_shortens_how_far_a_wave_goes():
    lengths = [
        the_wave(200, 18, chain(18), [(2, 40, 20 * PERIOD)], noise=noise).fronts[0].decay_length
        for noise in (0.02, 0.2, 0.6)
    ]
    assert lengths[0] > lengths[1] > lengths[2]


def test_collective_call_ends_a_wave():
    wave = the_wave(120, 18, chain(18), [(5, 40, DELAY)], noise=0.02, collective_every=5)
    (front,) = wave.fronts
    assert (front.ending, front.step[-1]) == ("collective", 44)


def test_half_a_program_step_shows_the_same_wave_in_seconds():
    edges = chain(18)
    steps = simulated(200, 18, edges, [(2, 61, DELAY)], noise=0.02)
    del steps["collective_s"]
    begin, end, compute, waiting = steps.values()
    joined = begin[::2], end[1::2], compute[::2] + compute[1::2], waiting[::2] + waiting[1::2]
    (wave,) = idle_waves(*joined, *edges, index=np.arange(0, 200, 2))
    assert (wave.rank, wave.step) == (2, 60)
    assert wave.fronts[0].speed_per_step == pytest.approx(1, rel=0.1)
    assert wave.period_s == pytest.approx(PERIOD, rel=0.1)


def test_ranks_keep_their_numbers_where_some_are_missing():
    steps = simulated(60, 8, chain(8), [(2, 30, DELAY)])
    del steps["collective_s"]
    (wave,) = idle_waves(*steps.values(), *chain(8), ranks=np.arange(10, 18), index=np.arange(100, 160))
    assert (wave.rank, wave.step, wave.fronts[0].ranks.tolist()) == (12, 130, [13, 14, 15, 16, 17])


def test_unknown_steps_of_a_rank_do_not_hide_a_wave():
    steps = simulated(120, 8, chain(8), [(1, 40, DELAY)], noise=0.02)
    del steps["collective_s"]
    for values in steps.values():
        values[10:20, 3] = np.nan
    (wave,) = idle_waves(*steps.values(), *chain(8))
    assert (wave.rank, wave.step, sum(len(front.ranks) for front in wave.fronts)) == (1, 40, 6)


@pytest.mark.parametrize(("edges", "n"), [(chain(8), 8), (chain(8, (1, -1)), 8), (mesh(4, 4), 16)])
def test_noise_alone_makes_no_wave(edges, n):
    reported = [
        (noise, seed)
        for noise in (0.02, 0.3, 1.0)
        for seed in range(30)
        if waves(60, n, edges, noise=noise, seed=seed)
    ]
    assert not reported


@pytest.mark.parametrize(
    "more",
    [
        {"compute": T_COMP * (1 + 0.5 * (np.arange(8) == 3))},
        {"compute": T_COMP + 0.2 * (np.arange(100) % 20 == 19)[:, np.newaxis]},
        {"compute": T_COMP + 0.2 * (np.arange(100) % 20 == 19)[:, np.newaxis] * (np.arange(8) == 0)},
        {"compute": T_COMP * (1 + 0.5 * ((np.arange(100) // 10)[:, np.newaxis] % 8 == np.arange(8)))},
        {"collective_every": 5},
    ],
    ids=["slow rank", "output steps", "output steps of one rank", "imbalance that moves", "collective calls"],
)
@pytest.mark.parametrize("edges", [chain(8), chain(8, (1, -1))], ids=["one-directional", "both directions"])
def test_other_waiting_is_no_wave(edges, more):
    assert not [seed for seed in range(10) if waves(100, 8, edges, noise=0.05, seed=seed, **more)]


def test_wave_through_a_pipeline_moves_in_time_within_one_step():
    n_steps, n_ranks = 60, 8  # each rank computes a step after the one before it: a row needs the row before
    compute = np.full((n_steps, n_ranks), T_COMP)
    compute[30, 2] += DELAY
    begin, end = np.zeros((2, n_steps, n_ranks))
    for step in range(n_steps):
        for rank in range(n_ranks):
            begin[step, rank] = end[step - 1, rank] if step else 0.0
            needs = end[step, rank - 1] if rank else 0.0
            end[step, rank] = max(begin[step, rank], needs) + compute[step, rank]
    (wave,) = idle_waves(begin, end, compute, end - begin - compute, *chain(n_ranks))
    (front,) = wave.fronts
    assert (wave.rank, wave.step, front.ranks.tolist()) == (2, 30, [3, 4, 5, 6, 7])
    assert set(front.step.tolist()) == {30}
    assert np.isnan(front.speed_per_step)
    assert front.speed_per_s == pytest.approx(1 / T_COMP, rel=0.05)


def test_delay_that_all_wait_for_at_once_is_no_wave():
    edges = chain(8)
    assert not waves(100, 8, edges, [(2, 40, DELAY)], noise=0.02, collective_every=1)


def test_delay_that_only_one_rank_waits_for_is_no_wave():
    assert not waves(100, 8, chain(8), [(6, 40, DELAY)], noise=0.02)


@pytest.mark.parametrize(("n_steps", "n_ranks"), [(1, 8), (60, 1)])
def test_run_of_one_step_or_one_rank_has_no_wave(n_steps, n_ranks):
    values = np.ones((n_steps, n_ranks))
    assert idle_waves(values - 1, values, values, values, *chain(8)) == []


def test_run_without_messages_has_no_wave():
    steps = simulated(60, 8, chain(8), [(2, 30, DELAY)])
    del steps["collective_s"]
    none = np.zeros(0, np.int64)
    assert idle_waves(*steps.values(), none, none) == []


def test_arrays_of_different_shapes_are_refused():
    values = np.ones((5, 8))
    with pytest.raises(ValueError, match=r"begin_s has the shape \(5, 8\), and end_s.* all must have"):
        idle_waves(values, values[:4], values, values, *chain(8))


def test_input_stays_unchanged():
    steps = simulated(60, 8, chain(8), [(2, 30, DELAY)])
    del steps["collective_s"]
    before = {name: values.copy() for name, values in steps.items()}
    idle_waves(*steps.values(), *chain(8))
    for name, values in steps.items():
        np.testing.assert_array_equal(values, before[name])
