# SPDX-License-Identifier: BSD-3-Clause
"""Densities of median times (Figure 2) and box plots (Figure 11)."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from known_runs.shown_regimes import classified, in_one_regime, longest, texts

from perfield.plots.style import PlotError, new_figure
from perfield.studies.regimes import plots as regimes
from perfield.studies.regimes.model import timings


def test_squared_density_holds_all_ranks():
    times = timings(np.random.default_rng(0).normal(2e-3, 1e-4, (200, 1)))
    (curve, _dashes) = regimes.densities({"a": times}, new_figure().subplots()).lines
    at, root = curve.get_xdata(), curve.get_ydata()
    share = float(((root[1:] ** 2 + root[:-1] ** 2) / 2 * np.diff(at)).sum())
    assert share == pytest.approx(1.0, abs=0.02)  # tails beyond the axis


def test_equal_medians_are_a_line_at_their_time():
    axes = regimes.densities({"a": timings(np.full((8, 4), 2e-3))}, new_figure().subplots())
    assert axes.lines[0].get_xdata() == pytest.approx([2, 2]) and "median time of a rank (ms)" in texts(
        axes.figure
    )


def test_few_ranks_have_a_dot_each_at_their_median():
    times = timings(np.array([[1e-3, 2e-3, 9e-3], [4e-3, 5e-3, 6e-3]]), [3, 7])
    axes = regimes.densities({"a": times}, new_figure().subplots())
    (dots,) = axes.lines
    assert dots.get_xdata() == pytest.approx([2, 5]) and dots.get_ydata().tolist() == [3, 7]
    assert "density" not in texts(axes.figure)


def test_boxes_of_regimes_have_their_medians_and_counts():
    axes = regimes.boxes({"a": longest([1.0, 3.0, 2.0, 9.0], [0, 0, 0, 1])}, new_figure().subplots())
    medians = [
        line.get_ydata()[0]
        for line in axes.lines
        if line.get_color() == "black" and line.get_linewidth() == 1.6
    ]
    assert medians == [2.0, 9.0]
    assert "fast\n3" in texts(axes.figure) and "slow\n1" in texts(axes.figure)


def test_methods_are_side_by_side_in_each_regime():
    words = texts(regimes.boxes({"a": classified(), "b": classified()}, new_figure().subplots()).figure)
    assert all(f"{name}\n{regime}\n" in words for name in "ab" for regime in ("fast", "slow"))


def test_empty_regime_has_no_box_and_unclassified_times_one():
    assert "slow" not in texts(regimes.boxes({"a": in_one_regime()}, new_figure().subplots()).figure)
    words = texts(regimes.boxes({"a": timings([1.0, 2.0])}, new_figure().subplots()).figure)
    assert "a\n2" in words and "regime" not in words


@pytest.mark.parametrize("plot", [regimes.boxes, regimes.densities])
def test_no_timings_and_no_known_time_are_refused(plot):
    with pytest.raises(PlotError, match="give at least one"):
        plot({}, new_figure().subplots())
    with pytest.raises(PlotError, match="timings of a hold no known time"):
        plot({"a": longest([np.nan], [-1])}, new_figure().subplots())
