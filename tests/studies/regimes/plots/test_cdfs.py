# SPDX-License-Identifier: BSD-3-Clause
"""Functional box plots of the distributions of ranks (Figures 9 and 10)."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from known_runs.shown_regimes import classified, in_one_regime, longest, texts

from perfield.plots.style import PlotError, new_figure
from perfield.studies.regimes import plots as regimes
from perfield.studies.regimes.model import timings


def test_black_curve_is_the_distribution_of_the_rank_in_the_middle():
    levels = np.array([[1.0], [1.1], [1.2], [1.3], [1.4]])
    times = timings(levels * np.linspace(1e-3, 2e-3, 50))
    figure = regimes.cdfs({"a": times})
    curve = figure.axes[0].lines[-1]
    at = float(np.interp(0.5, curve.get_ydata(), curve.get_xdata()))
    assert at == pytest.approx(1.2 * 1.5, rel=0.03)  # ms, the median of rank 2
    assert "black: rank 2" in texts(figure) and "5 ranks" in texts(figure)


def test_rank_far_from_all_others_is_dashed():
    ordinary = 2e-3 + 1e-4 * np.random.default_rng(0).normal(size=2000) + np.linspace(0, 2e-6, 12)[:, None]
    times = timings(np.vstack([ordinary, ordinary[:1] + 5e-4]))
    figure = regimes.cdfs({"a": times})
    assert "13 ranks; dashed: 1 that differs from the others" in texts(figure)
    assert sum(line.get_linestyle() == "--" for line in figure.axes[0].lines) == 1


def test_few_ranks_are_all_drawn_and_none_is_called_an_outlier():
    values = 2e-3 + 1e-4 * np.random.default_rng(0).normal(size=(4, 500)) + np.array([[0], [0], [0], [1e-3]])
    figure = regimes.cdfs({"a": timings(values)})
    assert len(figure.axes[0].lines) == 5  # each, and the one in the middle
    words = texts(figure)
    assert "grey: the others" in words and "dashed" not in words


def test_slow_regime_of_two_is_beside_the_slow_one_of_three():
    two = longest(np.repeat([1e-3, 9e-3], 30), np.repeat([0, 1], 30))
    three = longest(np.repeat([1e-3, 2e-3, 9e-3], 30), np.repeat([0, 1, 2], 30))
    del three.attrs["model"]
    figure = regimes.cdfs({"two": two, "three": three}, by_regime=True)
    drawn = [bool(axes.lines) for axes in figure.axes]
    assert drawn == [True, True, False, True, True, True]  # rows fast, middle, slow
    ticks = texts(regimes.boxes({"two": two, "three": three}, new_figure().subplots()).figure)
    assert "two\nslow\n30" in ticks and "three\nmiddle\n30" in ticks and "two\nmiddle" not in ticks


def test_rank_with_few_steps_in_a_regime_has_no_curve_there():
    times = classified(9, 100)
    times["regime"][:] = 0
    times["regime"][3, :19] = 1
    assert "no rank has 20 steps in this regime" in texts(regimes.cdfs({"a": times}, by_regime=True))
    times["regime"][4, :20] = 1
    assert "1 rank" in texts(regimes.cdfs({"a": times}, by_regime=True))


def test_each_regime_has_its_row_and_axis():
    figure = regimes.cdfs({"a": classified(), "b": classified(seed=1)}, by_regime=True)
    fast, slow = figure.axes[0], figure.axes[2]
    assert len(figure.axes) == 4 and fast.get_xlim()[1] < slow.get_xlim()[1]
    assert "a, fast" in texts(figure) and "b, slow" in texts(figure)


@pytest.mark.parametrize("times", [longest([1.0], [0]), in_one_regime(), classified(1, 5)])
def test_one_rank_and_empty_regimes_are_drawn(times):
    words = texts(regimes.cdfs({"a": times}, by_regime=True))
    assert "black: rank" in words or "no rank has 20 steps in this regime" in words


def test_no_timings_and_no_regimes_are_refused():
    with pytest.raises(PlotError, match="give at least one"):
        regimes.cdfs({})
    with pytest.raises(PlotError, match="no regimes"):
        regimes.cdfs({"a": timings([1.0])}, by_regime=True)
