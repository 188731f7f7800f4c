# SPDX-License-Identifier: BSD-3-Clause
"""Heat maps of times and of regimes (Figure 1)."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

import xarray as xr
from known_runs.shown_regimes import classified, in_one_regime, longest, texts

from perfield.catalyst_scripts.palette import ABSENT, regime_colours
from perfield.plots.style import PlotError, new_figure
from perfield.studies.regimes import plots as regimes
from perfield.studies.regimes.model import timings


def drawn(plot, times):
    axes = new_figure().subplots()
    plot(times, axes)
    return axes


def test_times_and_regimes_of_a_run_share_their_axes():
    words = texts(figure := regimes.heat_maps(classified(), words="here"))
    assert "Time of a step: rank by rank, step by step" in words and "here; 6 ranks, 80 steps" in words
    assert "The same times in 2 regimes" in words
    above, below = (axes for axes in figure.axes if axes.images)
    assert above.get_xlim() == below.get_xlim() == (-0.5, 79.5)


def test_cell_has_the_colour_of_its_regime_and_is_grey_where_the_time_is_unknown():
    times = longest([1e-3, 3e-3, np.nan], [0, 1, -1])
    cells = drawn(regimes.regimes_map, times).images[0].get_array()
    assert np.asarray(cells[0, :2]) == pytest.approx(np.array(regime_colours(2)))
    assert np.asarray(cells[0, 2]) == pytest.approx(ABSENT)


def test_uncertain_regimes_are_paler():
    times = longest([1e-3, 1e-3], [0, 0])
    times["probability"] = (("rank", "step"), np.array([[1.0, 0.6]]))
    sure, unsure = np.asarray(drawn(regimes.regimes_map, times).images[0].get_array())[0]
    assert (unsure >= sure).all() and unsure.sum() > sure.sum() + 0.5


def test_joined_cells_show_mean_times_and_mean_colours():
    values = np.tile([1e-3, 2e-3], 1100)  # 2200 steps: 3 in a cell
    times = longest(values, np.tile([0, 1], 1100))
    axes = drawn(regimes.times_map, times)
    cells = axes.images[0].get_array().filled(np.nan)
    assert cells.shape == (1, 734) and cells[0, :2] == pytest.approx([4 / 3, 5 / 3])
    assert "each cell: the mean of 3 steps" in axes.get_title(loc="left")
    axes = drawn(regimes.regimes_map, times)
    fast, slow = np.array(regime_colours(2))
    mixed = np.array([(2 * fast + slow) / 3, (fast + 2 * slow) / 3])
    assert np.asarray(axes.images[0].get_array())[0, :2] == pytest.approx(mixed)
    assert "mixed colours: a cell covers 3 steps" in axes.get_title(loc="left")


def test_long_times_beyond_the_colours_are_reported():
    values = np.append(np.linspace(1e-3, 1.1e-3, 300), 0.5)
    axes = drawn(regimes.times_map, longest(values, np.zeros(301)))
    assert "orange: longer, up to 500 ms" in axes.get_title(loc="left")


@pytest.mark.parametrize("times", [classified(1, 30), in_one_regime(regime=1), classified(2, 1)])
def test_one_rank_one_step_and_empty_regimes_are_drawn(times):
    assert "ms" in texts(regimes.heat_maps(times))


def test_single_regime_says_that_nothing_stands_out():
    times = longest([1e-3] * 4, [0] * 4)
    del times.attrs["model"]
    assert "no slow phases stand out" in texts(regimes.heat_maps(times))


def test_timings_without_regimes_or_known_times_are_refused():
    with pytest.raises(PlotError, match="no regimes"):
        regimes.heat_maps(timings(np.ones((2, 3))))
    unknown = classified()
    with pytest.raises(PlotError, match="no known time"):
        regimes.heat_maps(unknown.assign(time_s=xr.full_like(unknown["time_s"], np.nan)))
