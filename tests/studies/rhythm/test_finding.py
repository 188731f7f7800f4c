# SPDX-License-Identifier: BSD-3-Clause
"""A wavefront that has settled is reported, with what it costs or spares; other states are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_runs.observed_runs import observed_run
from known_runs.simulated_waves import chain, simulated

from perfield.analysis.findings import answers
from perfield.studies.rhythm import finding as wavefront
from perfield.studies.rhythm.finding import find

PERIOD = 0.01


def observed(begin_s, end_s, offsets=(1, -1)):
    """A run of which times of steps are known, and that ranks exchange messages with neighbours."""
    n_steps, n_ranks = begin_s.shape
    found = observed_run(
        n_ranks,
        n_steps,
        noise=0.01,
        step_time_s=end_s - begin_s,
        messages=[(sender, receiver, n_steps, 8, 0) for receiver, sender in zip(*chain(n_ranks, offsets))],
    )
    return replace(found, begin_s=begin_s, end_s=end_s)


def marching(slope, *, n_steps=200, n_ranks=12, faster=0.0, noise=0.02, seed=0):
    """Ranks in step for the first quarter; in the second, each falls behind the one before by -slope steps.

    faster : by which share steps are shorter from then on.
    """
    step = np.arange(n_steps + 1)
    ramp = np.clip(step / n_steps * 4 - 1, 0, 1)
    length = PERIOD * (1 - faster * (step >= n_steps / 4))
    at = np.cumsum(length)[:, None] - PERIOD * slope * ramp[:, None] * np.arange(n_ranks)
    at += noise * PERIOD * np.random.default_rng(seed).standard_normal((n_steps + 1, n_ranks))
    return observed(at[:-1], at[1:])


def test_settled_wavefront_is_reported_with_its_slope():
    (found,) = find(marching(-0.3))
    assert found.kind == "wavefront"
    assert found.words.startswith(
        "Ranks have settled into a wavefront: each is 0.3 steps behind the rank before"
    )
    assert (
        "and 3.29 steps lie between the first and the last of them (a straight line explains" in found.words
    )
    assert "Its steps take as long as those before, in which ranks marched in step: 10 ms." in found.words
    assert found.saved_s is None
    assert found.chance < 1e-3


def test_ranks_ahead_of_those_before_them_are_reported():
    (found,) = find(marching(0.4))
    assert "each is 0.4 steps ahead of the rank before it" in found.words


def test_wavefront_that_spares_time_is_reported_so():
    (found,) = find(marching(-0.3, faster=0.2))
    assert (
        "It spares time: its steps take 8.01 ms instead of 9.98 ms while ranks marched in st" in found.words
    )
    assert found.saved_s is None


def test_wavefront_that_costs_time_has_its_seconds():
    (found,) = find(marching(-0.3, faster=-0.2))
    assert "It costs time: its steps take 12 ms instead of 9.99 ms" in found.words
    assert found.saved_s == pytest.approx(0.2 * PERIOD * 100, rel=0.15)


def test_march_in_step_is_no_wavefront():
    assert not [seed for seed in range(30) if list(find(marching(0.0, seed=seed, noise=0.1)))]


def test_ranks_at_random_places_are_no_wavefront():
    for seed in range(30):
        random = np.random.default_rng(seed)
        at = PERIOD * (np.arange(101.0)[:, None] + random.uniform(0, 3, 12))
        assert not list(find(observed(at[:-1], at[1:])))


def test_ranks_that_wander_by_chance_are_no_wavefront():
    hits = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        at = PERIOD * (np.arange(101.0)[:, None] + random.standard_normal(12).cumsum())
        hits += bool(list(find(observed(at[:-1], at[1:]))))
    assert hits <= 1


def test_ranks_that_drift_apart_have_not_settled():
    rate = PERIOD * (1 + 0.01 * np.arange(12))
    at = np.arange(201.0)[:, None] * rate
    assert not list(find(observed(at[:-1], at[1:])))


@pytest.mark.parametrize("offsets", [(1,), (1, -1)])
def test_noise_of_exchanging_ranks_makes_no_wavefront(offsets):
    for seed in range(20):
        steps = simulated(150, 12, chain(12, offsets), noise=0.1, seed=seed)
        assert not list(find(observed(steps["begin_s"], steps["end_s"], offsets)))


def test_few_steps_or_ranks_find_nothing():
    assert not list(find(marching(-0.3, n_steps=30)))
    assert not list(find(marching(-0.3, n_ranks=4)))


def test_run_without_times_of_steps_is_not_asked():
    missing = next(a for a in answers(observed_run()) if a.question == wavefront.QUESTION).missing
    assert missing == ("begin_s", "end_s", "messages")
