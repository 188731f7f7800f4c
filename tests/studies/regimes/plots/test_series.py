# SPDX-License-Identifier: BSD-3-Clause
"""Series of times, coloured by regime (Figures 6 and 12)."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from known_runs.shown_regimes import classified, in_one_regime, longest, texts

from perfield.catalyst_scripts.palette import regime_colours
from perfield.plots.style import PlotError, new_figure
from perfield.studies.regimes import plots as regimes


def test_each_step_has_the_colour_of_its_regime():
    axes = regimes.one_series(longest([1e-3, 2e-3, 1e-3], [0, 1, 0]), new_figure().subplots())
    (dots,) = axes.collections
    assert np.asarray(dots.get_offsets())[:, 1] == pytest.approx([1, 2, 1])  # ms
    assert dots.get_facecolors()[:, :3] == pytest.approx(np.array(regime_colours(2))[[0, 1, 0]])


def test_rank_in_the_middle_of_all_is_shown_by_default():
    times = classified(3, 50)
    times["time_s"] = times["time_s"] * np.array([[5.0], [1.0], [2.0]])
    assert "rank 2, step by step" in texts(regimes.series({"fixed": times}))
    assert "rank 1, step by step" in texts(regimes.series({"fixed": times}, rank=1))


def test_methods_share_their_scale_and_longer_steps_are_triangles_at_its_end():
    quick = longest(np.full(400, 1e-3), np.zeros(400))
    spiked = longest(np.append(np.linspace(1e-3, 2e-3, 399), 1.0), np.zeros(400))
    above, below = regimes.series({"quick": quick, "spiked": spiked}).axes
    assert above.get_ylim() == below.get_ylim()
    (line,) = below.lines
    assert line.get_ydata().tolist() == [below.get_ylim()[1]]
    assert "longer, up to 1 s" in below.get_title(loc="left")


def test_methods_of_very_different_times_have_one_unit():
    slow = longest(np.append(np.full(300, 2e-2), 3e-4), np.zeros(301))
    quick = longest(np.full(301, 2e-4), np.zeros(301))
    above, below = regimes.series({"slow": slow, "quick": quick}).axes
    assert above.get_ylabel() == below.get_ylabel() == "time (ms)"
    dots = [np.asarray(axes.collections[0].get_offsets())[:, 1] for axes in (above, below)]
    assert (dots[0][0], dots[1][0]) == (pytest.approx(20), pytest.approx(0.2))


@pytest.mark.parametrize("times", [classified(1, 1), in_one_regime(1), longest([np.nan, 1.0], [-1, 0])])
def test_one_rank_one_step_and_empty_regimes_are_drawn(times):
    assert "step by step" in texts(regimes.series({"a": times}))


def test_unknown_rank_and_no_timings_are_refused():
    with pytest.raises(PlotError, match="no rank 9 in these timings; choose one of 0 to 5"):
        regimes.series({"a": classified()}, rank=9)
    with pytest.raises(PlotError, match="give at least one"):
        regimes.series({})
