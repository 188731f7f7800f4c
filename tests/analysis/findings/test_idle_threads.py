# SPDX-License-Identifier: BSD-3-Clause
"""Threads without work are reported, not those that a busy machine makes wait."""

from __future__ import annotations

import numpy as np
from known_runs.observed_runs import observed_run, placement_at

from perfield.analysis.findings.idle_threads import find

WIDE = placement_at(("n1", "0-7"), ("n1", "8-15"), ("n2", "0-7"), ("n2", "8-15"))


def threaded(ratio=1.0, cpu=0.4, switches=0.0, placement=WIDE, n_threads=4, seed=1):
    """Four ranks with threads in "loop", the longest of which takes ratio times the mean."""
    noise = 1 + 0.01 * np.random.default_rng(seed).random((60, 4))
    longest = 0.08 * np.asarray(ratio) * noise
    return observed_run(
        n_ranks=4,
        placement=placement,
        regions={"loop": "loop", "outer": "outer"},
        compute_time_s=longest + 0.02,
        loop_time_s=longest,
        loop_thread_mean_time_s=0.08 * noise,
        loop_thread_count=n_threads,
        outer_time_s=longest + 0.01,
        outer_thread_count=1,
        cpu_user_time_s=cpu,
        cpu_system_time_s=0.0,
        involuntary_switches=switches,
    )


def test_region_whose_threads_take_unequally_long_is_reported_with_its_ranks():
    (reported,) = find(threaded(ratio=[1.0, 1.0, 1.5, 1.0]))
    assert (reported.kind, reported.regions, reported.ranks.tolist()) == ("idle threads", ("loop",), [2])
    assert reported.words == (
        "In loop threads wait for the longest of them: of the 4 threads of rank 2, it takes 1.5 times as "
        "long as their mean."
    )
    np.testing.assert_allclose(reported.saved_s, 60 * 0.04, rtol=0.03)


def test_equal_threads_find_nothing():
    assert not list(find(threaded()))


def test_threads_that_some_steps_disturb_find_nothing():
    ratio = np.where(np.random.default_rng(2).random((60, 4)) < 0.3, 3.0, 1.02)
    assert not list(find(threaded(ratio=ratio, cpu=1.0)))


def test_ranks_that_keep_few_threads_busy_are_reported():
    (reported,) = find(threaded(cpu=0.12))
    assert (reported.kind, reported.regions, reported.ranks.tolist()) == ("idle threads", (), [0, 1, 2, 3])
    assert reported.words.startswith("Threads of ranks 0-3 have no work: the 4 threads of rank ")
    assert " keep 1.2 PUs busy while it computes." in reported.words


def test_threads_whose_pus_others_took_are_not_idle():
    assert not list(find(threaded(cpu=0.12, switches=50)))


def test_more_threads_than_pus_are_reported_and_nothing_of_their_waiting():
    narrow = placement_at(("n1", "0-1"), ("n1", "8-9"), ("n2", "0-1"), ("n2", "8-15"))
    (reported,) = find(threaded(ratio=1.5, placement=narrow))
    assert (reported.kind, reported.ranks.tolist()) == ("more threads than PUs", [0, 1, 2])
    assert reported.words.startswith(
        "Ranks 0-2: more threads than PUs (rank 0: 4 threads in one region, 2 PUs)."
    )


def test_run_without_threads_finds_nothing():
    assert not list(find(observed_run(pu_id=0)))
    assert not list(find(threaded(n_threads=1, cpu=0.1)))
