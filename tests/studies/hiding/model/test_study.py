# SPDX-License-Identifier: BSD-3-Clause
"""What repeated runs say: shares that are kept apart, gains, and which runs they come from."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from perfield.studies.hiding.model import DYNAMIC, FIXED, TEST, HidingError, simulate
from perfield.studies.hiding.model.presets import preset
from perfield.studies.hiding.model.study import compare

EPS = 0.1


def study(n_steps: int, time_s: float, wait_s: float = 0.0, slow: int = 0) -> xr.Dataset:
    """Two ranks whose MatVecs all take the same time, but for the first `slow` ones."""
    time = np.full((2, n_steps), time_s)
    time[:, :slow] *= 10
    dims = ("rank", "step")
    values = {"time_s": time, "w_in": 0 * time, "w_out": 0 * time + wait_s, "alpha": 0 * time + 0.5}
    return xr.Dataset(
        {name: (dims, value) for name, value in values.items()},
        {"rank": [0, 1], "step": np.arange(n_steps)},
        {"eps_s": EPS},
    )


def test_gains_come_from_the_fastest_runs_and_name_them():
    fixed = [study(10, 2.0, slow=n) for n in (5, 0, 1)]
    other = [study(10, 1.0, slow=n) for n in (0, 9, 1)]
    found = compare({"fixed": fixed, "other": other}, n_combined=2, with_regimes=False)
    assert found.outcomes["fixed"].chosen == (1, 2)
    assert found.outcomes["other"].chosen == (0, 2)
    assert found.longest["other"].sizes["step"] == 20
    assert found.outcomes["other"].gain_half == pytest.approx(50)
    assert found.outcomes["other"].gain_all == pytest.approx(
        100 * (58 - 29) / 58
    )  # 19 and 1 ten times as long
    assert np.isnan(found.outcomes["fixed"].gain_half)
    low, high = found.outcomes["other"].gain_half_interval
    assert low < 50 <= high + 1e-9  # the second run of the other has 9 slow steps


def test_hidden_share_is_of_all_repeats_with_its_interval():
    repeats = [study(10, 1.0, wait_s=wait) for wait in (0.0, 0.0, 0.2, 0.0)]
    found = compare({"fixed": repeats}, n_combined=1, with_regimes=False).outcomes["fixed"]
    assert found.hidden_share == 0.75
    assert 0 <= found.hidden_interval[0] < 0.75 < found.hidden_interval[1] <= 1
    assert np.isnan(found.fast_share) and np.isnan(found.fast_share_pooled)


def test_more_runs_than_there_are_cannot_be_combined():
    with pytest.raises(HidingError, match="3 repeats cannot be combined: a method has only 1"):
        compare({"fixed": [study(10, 1.0)]})
    with pytest.raises(HidingError, match="a method has no repeat"):
        compare({"fixed": []})


def test_times_that_carry_no_regimes_get_a_note():
    found = compare({"fixed": [study(10, 1.0, slow=2)]}, n_combined=1, n_starts=1)  # 10 steps are too few
    assert np.isnan(found.outcomes["fixed"].fast_share)
    assert any("times of fixed: no regimes" in sentence for sentence in found.notes)


def test_method_without_regimes_of_its_own_has_no_gain_in_the_fast_one():
    studies = {"fixed": [study(600, 1.0)], "other": [study(10, 1.0, slow=2)]}  # too few steps for a fit
    found = compare(studies, n_combined=1, n_starts=1)
    assert any("T_max of other: no regimes" in sentence for sentence in found.notes)
    assert np.isnan(found.outcomes["other"].gain_fast) and found.outcomes["other"].gain_half == 0


def test_share_of_steps_in_the_fast_regime_is_no_hidden_share():
    # With fixed alpha hidden MatVecs still wait up to eps, so they are not the fastest of all methods.
    whole = simulate(preset("often-congested").program, 600, seed=0)
    studies = {name: [whole.sel(splitting=name, drop=True)] for name in (FIXED, DYNAMIC, TEST)}
    found = compare(studies, n_combined=1, n_starts=2, n_sampled=10)
    fixed, dynamic, test = (found.outcomes[name] for name in studies)
    assert fixed.hidden_share < dynamic.hidden_share < test.hidden_share
    assert fixed.fast_share_pooled < dynamic.fast_share_pooled < test.fast_share_pooled
    assert abs(fixed.fast_share_pooled - fixed.hidden_share) > 0.2
    assert all(0 < one.fast_share < 1 for one in (fixed, dynamic, test))
    assert set(found.times[FIXED]["regime"].values.ravel()) <= {0, 1, 2}
    assert 3 < test.gain_fast < 15
