# SPDX-License-Identifier: BSD-3-Clause
"""Noise is reported where it costs much, and only if nothing else explains it."""

from __future__ import annotations

import numpy as np
from known_runs.observed_runs import observed_run, placement_at, plain_placement

from perfield.analysis.findings.noise import find

SPIKES = 0.1 * (1 + 2 * (np.random.default_rng(3).random((200, 8)) < 0.1))


def test_irregular_slow_moments_of_all_ranks_are_reported_without_a_saving():
    (reported,) = find(observed_run(n_steps=200, compute_time_s=SPIKES, placement=plain_placement()))
    assert (reported.kind, reported.saved_s, reported.ranks.tolist()) == ("noise", None, [])
    assert "a different one each time, as by chance" in reported.words


def test_common_noise_is_not_reported():
    assert not [reported for seed in range(20) for reported in find(observed_run(seed=seed, noise=0.1))]


def test_slow_rank_is_no_noise():
    assert not list(find(observed_run(compute_time_s=0.1 * (1 + 2 * (np.arange(8) == 3)))))


def test_noise_of_shared_cores_is_left_to_these():
    placement = placement_at(*[("n", "0-1")] * 8)
    assert not list(find(observed_run(n_steps=200, compute_time_s=SPIKES, placement=placement)))


def test_run_of_few_steps_finds_nothing():
    assert not list(find(observed_run(n_steps=10, compute_time_s=SPIKES[:10])))


def test_noise_of_ranks_that_share_cores_and_hardly_wait_for_them_is_reported():
    """Nobody else would report it."""
    placement = placement_at(*[("n", "0-1")] * 8)
    free = {"run_delay_time_s": 0.0, "delayed_compute_time_s": 0.0}
    observed = observed_run(n_steps=200, compute_time_s=SPIKES, placement=placement, **free)
    assert [found.kind for found in find(observed)] == ["noise"]
