# SPDX-License-Identifier: BSD-3-Clause
"""Steps that get slower are reported with their region and ranks; noise and ends are not."""

from __future__ import annotations

import numpy as np
from known_runs.observed_runs import observed_run

from perfield.analysis.findings.steps_get_slower import find


def noisy(seed, n_ranks=8, n_steps=60):
    return 1 + 0.03 * np.random.default_rng(seed).standard_normal((n_steps, n_ranks))


RAMP = np.linspace(0, 1, 60)[:, None]


def test_region_that_takes_longer_and_longer_is_named():
    solve, push = 0.05 * noisy(1) + 0.05 * RAMP, 0.04 * noisy(2)
    run = observed_run(
        regions={"solve": "Solve", "push": "push", "main": "main"},
        solve_time_s=solve,
        push_time_s=push,
        main_time_s=solve + push,
        compute_time_s=solve + push,
    )
    (reported,) = find(run)
    assert (reported.kind, reported.regions, reported.ranks.tolist()) == ("steps get slower", ("Solve",), [])
    assert reported.words.startswith("Steps take longer and longer: at the end 1.5")
    assert "times as long as at the beginning, " in reported.words
    assert reported.words.endswith("The time grows in Solve.")
    np.testing.assert_allclose(reported.saved_s, 60 * 0.05 / 2, rtol=0.1)


def test_region_that_grows_most_is_named_where_all_grow_a_little():
    solve, push = 0.05 * noisy(1) + 0.03 * RAMP, 0.05 * noisy(2) + 0.015 * RAMP
    regions = {"solve_time_s": solve, "push_time_s": push}
    run = observed_run(regions=["solve", "push"], compute_time_s=solve + push, **regions)
    assert [reported.regions for reported in find(run)] == [("solve",)]


def test_picture_shows_the_computing_of_the_region_without_the_waiting_inside():
    solve = 0.05 * noisy(1) + 0.05 * RAMP
    run = {"regions": ["solve"], "solve_time_s": solve, "compute_time_s": solve}
    assert [one.picture.field for one in find(observed_run(**run))] == ["solve_time_s"]
    (reported,) = find(observed_run(**run, solve_compute_time_s=solve))
    assert reported.picture.field == "solve_compute_time_s"


def test_rank_that_takes_longer_and_longer_is_named():
    compute = 0.1 * noisy(3)
    compute[:, 5] += 0.1 * RAMP[:, 0]
    (reported,) = find(observed_run(compute_time_s=compute))
    assert reported.ranks.tolist() == [5]
    assert reported.words.endswith("The time grows in computing, on rank 5.")


def test_few_ranks_are_not_reported_where_others_take_their_pus():
    compute = 0.1 * noisy(3) * (1 + np.random.default_rng(3).exponential(0.2, (60, 8)))
    compute[:, 5] = 0.05 * noisy(4)[:, 5] + 0.05 * RAMP[:, 0]
    calm = {"involuntary_switches": 0, "cpu_user_time_s": 0.1, "cpu_system_time_s": 0}
    (reported,) = find(observed_run(compute_time_s=compute, **calm))
    assert reported.ranks.tolist() == [5]
    assert not list(find(observed_run(compute_time_s=compute, **{**calm, "involuntary_switches": 50})))


def test_waiting_that_grows_is_no_computing():
    compute = 0.1 * noisy(4)
    step = compute.max(axis=1, keepdims=True) + 0.1 * RAMP
    (reported,) = find(observed_run(compute_time_s=compute, step_time_s=step + 0 * compute))
    assert reported.words.endswith("The time grows in calls of MPI, while computing takes as long as before.")


def test_waiting_that_grows_is_not_reported_where_others_take_pus():
    compute = 0.1 * noisy(4)
    step = compute.max(axis=1, keepdims=True) + 0.1 * RAMP + 0 * compute
    cpu = {"cpu_user_time_s": 0.1, "cpu_system_time_s": 0}
    calm, busy = (
        observed_run(compute_time_s=compute, step_time_s=step, involuntary_switches=n, **cpu) for n in (0, 50)
    )
    assert list(find(calm)) and not list(find(busy))


def test_waiting_for_a_pu_that_grows_is_the_machine_s():
    """As where another job starts beside the program."""
    compute, delay = 0.02 * noisy(1), np.clip(0.03 * RAMP * noisy(2), 0, None)
    step = (compute + delay).max(axis=1)[:, None]
    run = observed_run(compute_time_s=compute, run_delay_time_s=delay, step_time_s=step, waiting_time_s=0.0)
    assert not list(find(run))
    without_delays = observed_run(compute_time_s=compute, step_time_s=step, waiting_time_s=0.0)
    assert [reported.kind for reported in find(without_delays)] == ["steps get slower"]


def test_steady_run_finds_nothing():
    assert not [reported for seed in range(50) for reported in find(observed_run(seed=seed, noise=0.2))]


def test_small_growth_is_not_reported():
    assert not list(find(observed_run(compute_time_s=0.1 * noisy(5) + 0.004 * RAMP)))


def test_slow_end_and_output_steps_are_no_trend():
    compute = 0.1 * noisy(6)
    compute[50:] *= 2
    assert not list(find(observed_run(compute_time_s=compute)))
    compute = 0.1 * noisy(7)
    compute[9::10] *= 3
    assert not list(find(observed_run(compute_time_s=compute)))


def test_run_of_few_steps_finds_nothing():
    for n_steps in (0, 1, 5):
        assert not list(find(observed_run(n_steps=n_steps)))


def test_busy_machine_does_not_hide_a_trend_of_all_ranks():
    busy = 1 + np.random.default_rng(8).exponential(10, (60, 8)) * (noisy(8) > 1.02)
    solve = 0.1 * noisy(9) * busy + 0.05 * RAMP
    (reported,) = find(observed_run(regions=["solve"], solve_time_s=solve, compute_time_s=solve))
    assert (reported.regions, reported.ranks.tolist()) == (("solve",), [])
    assert reported.words.startswith("In each step ranks compute longer and longer: at the end 1.")


def test_machine_that_hides_most_ranks_leaves_the_least():
    busy = 1 + np.random.default_rng(8).exponential(2, (60, 8)) * (
        np.random.default_rng(9).random((60, 8)) < 0.7
    )
    solve = 0.1 * noisy(9) * busy + 0.05 * RAMP
    (reported,) = find(observed_run(regions=["solve"], solve_time_s=solve, compute_time_s=solve))
    assert reported.regions == ("solve",)


def test_busy_machine_alone_finds_nothing():
    for seed in range(40):
        busy = 1 + 3 * (np.random.default_rng(seed).random((60, 8)) < 0.2)
        assert not list(find(observed_run(compute_time_s=0.1 * noisy(seed + 100) * busy)))
