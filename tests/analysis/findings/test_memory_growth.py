# SPDX-License-Identifier: BSD-3-Clause
"""Memory that keeps growing is reported; a plateau, a fall and chance are not."""

from __future__ import annotations

import numpy as np
from known_runs.observed_runs import observed_run

from perfield.analysis.findings.memory_growth import find

STEPS = np.arange(100.0)[:, None]


def found(memory):
    return list(find(observed_run(n_steps=100, resident_bytes=memory)))


def test_rank_that_leaks_is_named_with_its_rate():
    (reported,) = found(50e6 + 1e6 * STEPS * (np.arange(8) == 3))
    assert (reported.kind, reported.ranks.tolist(), reported.saved_s) == ("growing memory", [3], None)
    assert reported.words.startswith("The memory of rank 3 keeps growing by 1 MB per step, from ")


def test_leak_that_grows_by_leaps_is_reported():
    (reported,) = found(50e6 + 10e6 * np.floor(STEPS / 8) + np.zeros(8))
    assert reported.ranks.tolist() == list(range(8))
    assert reported.words.startswith("The memory of ranks 0-7 keeps growing, most on rank 0: by ")


def test_plateau_is_no_leak():
    assert not found(50e6 * (2 - np.exp(-STEPS / 15)) + np.zeros(8))
    assert not found(50e6 + 1e6 * np.minimum(STEPS, 60) + np.zeros(8))


def test_memory_that_wanders_by_chance_is_no_leak():
    for seed in range(40):
        wander = np.random.default_rng(seed).standard_normal((100, 8)).cumsum(axis=0)
        assert not found(100e6 + 5e6 * wander)


def test_little_growth_is_not_reported():
    assert not found(500e6 + 1e5 * STEPS + np.zeros(8))
    assert not found(1e6 + 5e3 * STEPS + np.zeros(8))


def test_run_of_few_steps_finds_nothing():
    for n_steps in (0, 1, 9):
        assert not list(find(observed_run(n_steps=n_steps, resident_bytes=5e7)))
