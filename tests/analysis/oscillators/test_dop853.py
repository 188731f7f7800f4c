# SPDX-License-Identifier: BSD-3-Clause
"""Our DOP853 against SciPy's, step by step."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import DOP853

from perfield.analysis.oscillators.dop853 import LeanDOP853


def swing(time: float, state: np.ndarray) -> np.ndarray:
    """A driven pendulum, and a fast decay."""
    return np.array([state[1], -np.sin(state[0]) + 0.1 * time, -40.0 * (state[2] - np.cos(time))])


@pytest.mark.parametrize("first_step", [None, 2.0], ids=["own first step", "first step too long"])
def test_steps_and_phases_between_them_are_those_of_scipy(first_step):
    tolerance = {"rtol": 1e-8, "atol": 1e-10, "first_step": first_step}
    start = np.array([0.5, 0.0, 3.0])
    ours, theirs = (solver(swing, 1.0, start, 5.0, **tolerance) for solver in (LeanDOP853, DOP853))
    while theirs.status == "running":
        ours.step()
        theirs.step()
        assert ours.t == pytest.approx(theirs.t, rel=1e-6)
        middle = 0.3 * theirs.t_old + 0.7 * theirs.t
        assert ours.dense_output()(middle) == pytest.approx(theirs.dense_output()(middle), abs=1e-8)
    assert (ours.status, ours.nfev) == ("finished", theirs.nfev)
    assert ours.y == pytest.approx(theirs.y, abs=1e-10)
    assert (start == [0.5, 0.0, 3.0]).all()


def test_a_step_that_meets_no_number_is_tried_again_shorter():
    def ends(time: float, state: np.ndarray) -> np.ndarray:
        return np.sqrt(1.2 - time) * np.ones(2) if time < 1.2 else np.full(2, np.nan)

    solver = LeanDOP853(ends, 0.0, np.zeros(2), 1.0, first_step=0.9, rtol=1e-6, atol=1e-9)
    while solver.status == "running":
        assert solver.step() is None
    assert solver.y == pytest.approx(np.full(2, (1.2**1.5 - 0.2**1.5) / 1.5), abs=1e-6)

    solver = LeanDOP853(ends, 0.0, np.zeros(2), 3.0, first_step=0.9, rtol=1e-6, atol=1e-9)
    told = None
    while solver.status == "running":
        told = solver.step()
    assert solver.status == "failed" and "shorter than the clock can tell" in told
    assert solver.t == pytest.approx(1.2, abs=1e-6)
