# SPDX-License-Identifier: BSD-3-Clause
"""What is hidden and gained: shares of MatVecs, and sums of sorted times."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from perfield.studies.hiding.model import HidingError, gain, hidden_share


def test_hidden_share_counts_matvecs_whose_waits_both_stay_within_eps():
    waits = {
        "w_in": (("rank", "step"), [[0.0, 0.2, np.nan], [0.1, 0.0, np.nan]]),
        "w_out": (("rank", "step"), [[0.0, 0.0, np.nan], [0.1, 0.3, np.nan]]),
    }
    found = xr.Dataset(waits, attrs={"eps_s": 0.1})
    assert hidden_share(found) == 0.5
    assert hidden_share(found, 0.05) == 0.25


def test_gain_compares_sums_of_the_fastest_steps():
    # Shuffled 1, 2, 3, 100 against 1, 1, 1, 103: the fastest half takes 3 and 2 s, all take 106 each.
    first, second = np.array([100.0, 1, 3, 2]), np.array([1.0, 103, 1, 1])
    assert gain(first, second, 0.5) == pytest.approx(100 / 3)
    assert gain(first, second) == pytest.approx(0.0)
    assert gain(first, second[:2], 1.0) == pytest.approx(100 * (3 - 104) / 3)  # as many of each


def test_gain_over_nothing_is_refused():
    with pytest.raises(HidingError, match=r"no times are known"):
        gain(np.array([np.nan]), np.array([1.0]))
    with pytest.raises(HidingError, match=r"the fastest 0 of all"):
        gain(np.ones(2), np.ones(2), 0)
