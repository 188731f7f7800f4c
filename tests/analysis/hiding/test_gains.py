# SPDX-License-Identifier: BSD-3-Clause
"""What is hidden and gained: shares of MatVecs, sums of sorted times, and which runs are combined."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from perfield.analysis.hiding import HidingError, fastest, gain, hidden_share, longest


def test_hidden_share_counts_matvecs_whose_waits_both_stay_within_eps():
    waits = {
        "w_in": (("splitting", "rank", "step"), [[[0.0, 0.2], [0.1, 0.0]], [[0.0, 0.0], [np.nan, 0.0]]]),
        "w_out": (("splitting", "rank", "step"), [[[0.0, 0.0], [0.1, 0.3]], [[0.0, 0.0], [0.0, 0.0]]]),
    }
    found = xr.Dataset(waits, {"splitting": ["a", "b"]}, {"eps_s": 0.1})
    np.testing.assert_allclose(hidden_share(found), [0.5, 1.0])
    np.testing.assert_allclose(hidden_share(found, 0.05), [0.25, 1.0])


def test_longest_time_is_of_any_rank():
    found = xr.Dataset({"time_s": (("rank", "step"), [[1.0, 2.0], [3.0, 1.0]])})
    np.testing.assert_array_equal(longest(found), [3.0, 2.0])


def test_gain_compares_sums_of_the_fastest_steps():
    # Shuffled 1, 2, 3, 100 against 1, 1, 1, 103: the fastest half takes 3 and 2 s, all take 106 each.
    first, second = np.array([100.0, 1, 3, 2]), np.array([1.0, 103, 1, 1])
    assert gain(first, second, 0.5) == pytest.approx(100 / 3)
    assert gain(first, second) == pytest.approx(0.0)
    assert gain(first, second[:2], 1.0) == pytest.approx(100 * (3 - 104) / 3)  # as many of each
    assert gain(np.append(first, np.nan), second, 0.5) == pytest.approx(100 / 3)


def test_gain_over_nothing_is_refused():
    with pytest.raises(HidingError, match="cannot be compared"):
        gain(np.array([np.nan]), np.array([1.0]))


def test_fastest_runs_are_concatenated_and_named():
    series, chosen = fastest([np.array([5.0, 5]), np.array([1.0, 2]), np.array([3.0, 1])], 2)
    assert chosen == [1, 2]
    np.testing.assert_array_equal(series, [1, 2, 3, 1])
    with pytest.raises(HidingError, match="4 of 1 runs"):
        fastest([np.zeros(2)], 4)
