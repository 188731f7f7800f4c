# SPDX-License-Identifier: BSD-3-Clause
"""Spread in whole steps, variance, wavefront and the time that ranks take to settle."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from known_runs.planted_phases import TURN, phases_of

from perfield.studies.rhythm.model import (
    RhythmError,
    crossing_time,
    phase_variance,
    settling_time,
    spread,
    wavefront,
)


def test_spread_counts_whole_steps_from_the_last_rank_to_the_first():
    found = spread(phases_of([[0.0, np.nan, np.nan], [3.5, 1.0, np.nan], [-1.0, 1.25, np.nan]]))
    assert found.values[:2].tolist() == pytest.approx([4.5, 0.25])
    assert np.isnan(found.values[2])
    assert found.attrs["units"] == "periods"


def test_variance_is_the_mean_square_distance_from_the_mean():
    found = phase_variance(phases_of([[0.0, 0.0], [1.0, np.nan], [2.0, np.nan]]))
    assert found.values == pytest.approx([TURN**2 * 2 / 3, 0])


def test_variance_and_fit_stay_exact_late_in_a_run():
    late = phases_of(1e6 + 0.001 * np.arange(16))
    assert float(phase_variance(late)) == pytest.approx((0.001 * TURN) ** 2 * 255 / 12, rel=1e-5)
    assert float(wavefront(late).fit) == pytest.approx(1, abs=1e-6)


def test_wavefront_has_slope_and_fit_in_periods_per_rank():
    found = wavefront(phases_of(-0.25 * np.arange(12)[:, None] + np.array([0.0, 100.0])))
    assert found.slope.values == pytest.approx([-0.25, -0.25])
    assert found.fit.values == pytest.approx([1, 1])


def test_fit_is_the_square_of_the_correlation():
    rng = np.random.default_rng(5)
    periods = rng.random((9, 4))
    found = wavefront(phases_of(periods))
    for k in range(4):
        assert float(found.fit[k]) == pytest.approx(np.corrcoef(np.arange(9), periods[:, k])[0, 1] ** 2)
        assert float(found.slope[k]) == pytest.approx(np.polyfit(np.arange(9), periods[:, k], 1)[0])


def test_fit_leaves_unknown_ranks_out_and_is_unknown_of_equal_phases():
    found = wavefront(phases_of([[0.0, 0.5, np.nan], [np.nan, 0.5, 1.0], [0.2, 0.5, np.nan]]))
    assert found.slope.values[:2] == pytest.approx([0.1, 0])
    assert np.isfinite(found.fit.values).tolist() == [True, False, False]
    assert np.isnan(found.slope.values[2])


def test_rounding_of_equal_phases_has_no_fit():
    late = phases_of(1e6 + 1e-10 * np.arange(4))  # the next number after 2 pi 1e6 is 1e-9 away
    assert np.isnan(float(wavefront(late).fit))


def test_wavefront_may_run_along_nodes():
    node = np.repeat(np.arange(4), 3)
    assert float(wavefront(phases_of(0.5 * node), node).slope) == pytest.approx(0.5)
    with pytest.raises(RhythmError, match=r"position has the shape \(4,\); expected one number for each"):
        wavefront(phases_of(0.5 * node), np.arange(4))


def series(values):
    """A series over the times 0, 1, 2, ... s."""
    return xr.DataArray(np.array(values, float), {"time": np.arange(float(len(values)))}, ("time",))


def test_settling_is_the_last_upward_crossing():
    assert crossing_time(series([1.0, 0.5, 1.0, 0.8, 1.0, 1.0]), 0.9) == pytest.approx(3.5)


def test_settling_may_be_a_fall():
    assert crossing_time(series([4.0, 2.0, 1.0]), 1.5, rising=False) == pytest.approx(1.5)


def test_ranks_that_always_were_or_never_are_in_order_have_settled_first_or_not_at_all():
    assert crossing_time(series([np.nan, 1.0, 1.0]), 0.9) == 1
    assert np.isnan(crossing_time(series([1.0, 1.0, 0.5]), 0.9))
    assert np.isnan(crossing_time(series([np.nan, np.nan]), 0.9))


def test_unknown_instants_at_the_end_do_not_undo_settling():
    assert crossing_time(series([0.8, np.nan, 1.0, np.nan]), 0.9) == pytest.approx(1)


def test_pair_settles_when_the_closed_form_says():
    # x = x0 exp(-t): R = cos(x / 2) passes 0.99 at t = ln(x0 / (2 arccos 0.99))
    times = np.linspace(0, 10, 5001)
    pair = phases_of(np.stack([0 * times, np.exp(-times)]) / TURN * 2.0, times)
    assert settling_time(pair) == pytest.approx(np.log(1 / np.arccos(0.99)), abs=1e-5)
