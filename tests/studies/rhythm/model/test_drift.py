# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that drift apart, and ranks that only look so."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import rhythm_runs

from perfield.studies.oscillators.model.topologies import chain
from perfield.studies.rhythm.model import drift, phases


def drift_of(stamps):
    return drift(phases(rhythm_runs.steps_of(stamps)).phase)


def test_uncoupled_ranks_drift_by_the_difference_of_their_periods():
    found = drift_of(rhythm_runs.drifting(5, 400, longer=0.02))
    assert (found.fast, found.slow) == (0, 4)
    assert found.share == pytest.approx(0.08, rel=1e-3)
    assert found.gain == pytest.approx((found.end_s - found.begin_s) * (1 - 1 / 1.08), rel=1e-3)


def test_drift_shows_whether_messages_lead_from_the_slow_rank_to_the_fast_one():
    stamps = rhythm_runs.drifting(4, 400)  # rank 3 is the slowest
    found = phases(rhythm_runs.steps_of(stamps)).phase
    assert drift(found).linked is None
    assert drift(found, chain(4)).linked is False
    assert drift(found, chain(4, bidirectional=True)).linked is True


def test_delay_is_no_drift():
    assert drift_of(rhythm_runs.waiting(8, 200, delay=(3, 20, 30.0))) is None


def test_late_start_is_no_drift():
    assert drift_of(rhythm_runs.even(4, 100, behind_s=[0, 3, 6, 9])) is None


def test_ranks_that_wait_for_neighbours_do_not_drift():
    assert drift_of(rhythm_runs.waiting(8, 200)) is None


def test_random_steps_of_ranks_that_wait_are_no_drift():
    random = np.random.default_rng(5)
    for _ in range(20):
        steps = 1 + 0.3 * random.random((300, 6))
        ends = np.zeros((301, 6))
        for step in range(300):
            ends[step + 1] = (ends[step] + steps[step]).max()
        stamps = {r: list(zip(ends[:-1, r], ends[1:, r])) for r in range(6)}
        assert drift_of(stamps) is None


def test_rank_that_ended_early_is_left_out():
    stamps = rhythm_runs.drifting(4, 400)
    del stamps[3][40:]
    found = drift_of(stamps)
    assert (found.fast, found.slow) == (0, 2)


def test_few_steps_show_no_drift():
    assert drift_of(rhythm_runs.drifting(3, 3, longer=0.9)) is None
