# SPDX-License-Identifier: BSD-3-Clause
"""The ends of colour scales."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.output.scales import end_without_outliers, round_end, scale_of


@pytest.mark.parametrize(
    ("high", "end"),
    [
        (0.0283, 0.03),
        (0.338, 0.4),
        (7.0, 8.0),
        (1.05, 1.2),
        (13.0, 15.0),
        (123456.0, 125000.0),
        (0.0, 1.0),
        (5e-324, 1.0),
    ],
)
def test_scales_end_at_the_next_round_number(high, end):
    assert round_end(high) == end


def test_round_ends_are_near_and_stay_where_they_are():
    for high in np.random.default_rng(5).lognormal(0, 8, 300):
        end = round_end(float(high))
        assert high * (1 - 1e-9) <= end <= 1.34 * high
        assert round_end(end) == end


@pytest.mark.parametrize(("high", "end"), [(1, 1.0), (3, 3.0), (6, 6.0), (7, 8.0), (13, 20.0), (26, 30.0)])
def test_numbers_of_counts_are_whole(high, end):
    assert round_end(high, whole=True) == end


def about(low, high, unit="s", **more):
    return {"range": (low, high), "unit": unit, **more}


def test_amounts_start_at_zero():
    assert scale_of("solve_time_s", about(0.98, 1.02), {}) == (0.0, 1.2)
    assert scale_of("cells", about(490.0, 512.0, ""), {}) == (0.0, 600.0)


def test_single_steps_far_beyond_the_others_do_not_stretch_the_scale():
    assert scale_of("solve_time_s", about(0.01, 0.338, scale_end=0.028), {}) == (0.0, 0.03)


def test_own_fields_keep_their_range():
    assert scale_of("T", about(300.0, 301.5, ""), {"T": "T"}) == (300.0, 301.5)


def test_steps_ahead_have_zero_in_the_middle_and_leave_nothing_out():
    assert scale_of("phase_steps", about(-0.4, 2.3, "", scale_end=1.0), {}) == (-2.5, 2.5)
    assert scale_of("phase_steps", about(-0.01, 0.02, ""), {}) == (-0.1, 0.1)


def test_order_parameter_reaches_from_0_to_1():
    assert scale_of("order_parameter", about(0.4, 0.6, ""), {}) == (0, 1)


def test_negative_amounts_keep_their_range():
    assert scale_of("balance", about(-2.0, 3.0, ""), {}) == (-2.0, 3.0)


@pytest.mark.parametrize("name", ["rank", "source", "node_id", "topology_type"])
def test_names_have_no_scale(name):
    assert scale_of(name, about(0, 7, ""), {}) is None


@pytest.mark.parametrize(
    ("values", "peaks", "end"),
    [
        ([0.02] * 985 + [0.35] * 15, [0.02] * 10 + [0.35], 0.02),  # fewer than two per cent lie far beyond
        ([0.02] * 950 + [0.35] * 50, [0.02] * 10 + [0.35], None),
        ([0.02] * 985 + [0.021] * 15, [0.02] * 10 + [0.021], None),  # nothing is far beyond
        ([0.02] * 985 + [0.35] * 15, [0.35] * 15, None),  # one of 64 ranks is slow in all steps
        ([0.0] * 99 + [0.35], [0.0, 0.0, 0.35], None),
        ([], [], None),
    ],
)
def test_scales_end_at_the_98th_percentile_where_few_values_lie_far_beyond(values, peaks, end):
    assert end_without_outliers(np.array(values), np.array(peaks)) == end
