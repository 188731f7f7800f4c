# SPDX-License-Identifier: BSD-3-Clause
"""Models fitted to timings with known regimes."""

import numpy as np
import pytest
from regime_levels import accuracy, levels

from perfield.analysis.regimes import EMISSIONS, classify, fit


@pytest.mark.parametrize("emission", EMISSIONS)
def test_three_levels_are_found(emission):
    times = levels(seed=1)
    found = classify(times, fit(times, 3, emission=emission).model)
    assert accuracy(found, times) >= 0.95


def test_the_caller_s_times_stay():
    times = levels(seed=2, n_ranks=4, n_steps=1000)
    before = times.copy(deep=True)
    classify(times, fit(times, 2).model)
    assert times.identical(before)


def test_the_same_seed_fits_the_same():
    times = levels(seed=2, n_ranks=4, n_steps=1000)
    first, second = (fit(times, 3, seed=5).model for _ in range(2))
    np.testing.assert_array_equal(first.location, second.location)
