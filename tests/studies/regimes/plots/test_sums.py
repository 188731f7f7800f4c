# SPDX-License-Identifier: BSD-3-Clause
"""Sums of the fastest steps (Figures 11 and 13), and what slow steps cost."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from known_runs.shown_regimes import longest, texts

from perfield.plots.style import PlotError, new_figure
from perfield.studies.regimes import plots as regimes

FIXED = longest([2.0, 2.0, 2.0, 10.0], [0, 0, 0, 1])
TEST = longest([1.0, 5.0, 1.0, 1.0], [0, 1, 0, 0])


def test_sums_and_improvement_of_all_steps_and_of_the_fast_regime():
    figure = regimes.cumulative({"fixed": FIXED, "MPI test": TEST})
    sums, fast, saved, saved_fast = figure.axes
    assert [line.get_ydata().tolist() for line in sums.lines] == [[2, 4, 6, 16], [1, 2, 3, 8]]
    assert [line.get_ydata().tolist() for line in fast.lines] == [[2, 4, 6], [1, 2, 3]]
    assert saved.lines[1].get_ydata() == pytest.approx([50, 50, 50, 50])
    assert saved_fast.lines[1].get_ydata() == pytest.approx([50, 50, 50])
    assert "Time saved against fixed" in texts(figure) and "+50 % at K = 4" in texts(figure)


def test_fast_regimes_that_do_not_match_are_not_to_be_compared():
    words = texts(regimes.cumulative({"fixed": FIXED, "MPI test": TEST}))
    assert "do not compare: mean steps take 1 s and 2 s" in words
    near = longest([1.9, 2.1], [0, 0])
    assert "do not compare" not in texts(regimes.cumulative({"fixed": FIXED, "near": near}))


def test_one_method_alone_has_no_improvement():
    assert "saved" not in texts(regimes.cumulative({"only": FIXED}))


def test_without_regimes_only_all_steps_are_drawn():
    figure = regimes.cumulative({"a": FIXED.drop_vars("regime"), "b": TEST})
    assert len(figure.axes) == 2


def test_regime_without_a_step_is_said_to_be_empty():
    slow = longest([5.0, 5.0], [1, 1])
    assert "no step is in this regime" in texts(regimes.cumulative({"a": slow, "b": slow}))


def test_cost_is_the_time_beyond_steps_that_take_the_mean_of_the_fast_regime():
    axes = regimes.cost_of_slow_steps(FIXED, new_figure().subplots())
    words = texts(axes.figure)
    assert "Slow steps cost 8 s" in words and "50 % of the time" in words  # 16 s instead of 4 x 2 s


def test_cost_without_a_fast_step_is_refused():
    with pytest.raises(PlotError, match="no step is in the fast regime"):
        regimes.cost_of_slow_steps(longest([5.0], [1]), new_figure().subplots())


def test_no_timings_or_no_known_time_are_refused():
    with pytest.raises(PlotError, match="give at least one"):
        regimes.cumulative({})
    with pytest.raises(PlotError, match="timings of b hold no known time"):
        regimes.cumulative({"a": FIXED, "b": longest([np.nan], [-1])})
