# SPDX-License-Identifier: BSD-3-Clause
"""Regimes of the longest time of all ranks."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.planted_regimes import planted

from perfield.studies.regimes.model import RegimeError, timings
from perfield.studies.regimes.model.longest import longest_classified


def test_longest_times_have_two_regimes_of_a_fit_of_their_own():
    times = planted(4, 600, [([2], 100, 200), ([0, 1], 400, 450)])
    found = longest_classified(times.assign(regime=times["regime"] * 0 + 1))  # of no use to the fit
    slow = np.zeros(600, bool)
    slow[100:200] = slow[400:450] = True
    assert found["rank"].values.tolist() == [-1]
    assert ((found["regime"].values[0] == 1) == slow).mean() > 0.99


def test_of_few_steps_each_has_the_regime_of_its_longest_rank():
    times = timings([[1.0, 5.0, np.nan], [2.0, 1.0, np.nan]])
    times = times.assign(regime=(("rank", "step"), np.array([[0, 1, -1], [0, 0, -1]], np.int8)))
    assert longest_classified(times)["regime"].values.tolist() == [[0, 1, -1]]


def test_timings_without_regimes_are_refused():
    with pytest.raises(RegimeError, match="no regimes yet"):
        longest_classified(timings(np.ones((2, 600))))
