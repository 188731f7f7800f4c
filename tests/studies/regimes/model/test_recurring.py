# SPDX-License-Identifier: BSD-3-Clause
"""Slow steps of the program come back regularly, those of a machine do not."""

import numpy as np
from known_runs.planted_regimes import planted, two_levels

from perfield.studies.regimes.model import REGIME, simulated
from perfield.studies.regimes.model.recurring import recurs_every


def test_steps_that_are_slow_every_tenth_time_recur():
    times = planted(4, 200, [(range(4), step, step + 1) for step in range(9, 200, 10)])
    assert recurs_every(times) == 10


def test_a_few_missed_turns_do_not_hide_the_rhythm():
    begins = [step for step in range(9, 400, 10) if step not in (99, 239)]
    times = planted(4, 400, [(range(4), step, step + 2) for step in begins])
    assert recurs_every(times) == 10


def test_phases_of_a_machine_do_not_recur():
    for seed in range(20):
        assert recurs_every(simulated(two_levels(0.9, 0.3), 1, 1000, seed)) is None


def test_output_steps_without_a_time_do_not_divide_a_slow_phase():
    times = planted(4, 400, [(range(4), 50, 150), (range(4), 230, 360)])
    times[REGIME][:, 9::10] = -1
    assert recurs_every(times) is None


def test_few_phases_or_none_do_not_recur():
    assert recurs_every(planted(2, 100, [(range(2), 10, 12), (range(2), 30, 32), (range(2), 50, 52)])) is None
    alike = planted(2, 100, [])
    assert np.all(alike["regime"] == 0) and recurs_every(alike) is None
