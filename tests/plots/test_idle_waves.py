# SPDX-License-Identifier: BSD-3-Clause
"""The plot of an idle wave marks who waited for whom, step by step."""

from __future__ import annotations

import numpy as np
import pytest

import perfield
from perfield.report import charts, report

SLEEP = "--sleep", 0.005, "--steps", 120
matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def delayed(rhythm_run):
    return perfield.open(rhythm_run(8, "pisolver", *SLEEP, "--delay", 2, 41, 50))


def axes_of(run):
    from perfield.plots import idle_wave
    from perfield.plots.figures import new_figure

    figure = new_figure((10, 5.5))
    axes = idle_wave(run, axes=figure.subplots())
    figure.canvas.draw()
    return axes


def test_line_follows_the_ranks_that_wait(delayed):
    axes = axes_of(delayed)
    front, origin = axes.lines
    np.testing.assert_array_equal(front.get_xydata(), [[41, 3], [42, 4], [43, 5], [44, 6], [45, 7]])
    np.testing.assert_array_equal(origin.get_xydata(), [[41, 2]])
    low, high = axes.get_xlim()
    assert (low, high) == (36.5, 49.5), "the wave, and four steps on each side"


def test_colours_reach_the_whole_delay(delayed):
    assert axes_of(delayed).images[0].get_clim()[1] == pytest.approx(250, rel=0.1)


def test_run_without_a_wave_has_no_plot(rhythm_run):
    run = perfield.open(rhythm_run(4, "pisolver", "--sleep", 0.005, "--steps", 20, "--topology", "none"))
    with pytest.raises(perfield.plots.style.PlotError, match="shows no idle wave: no delay of one rank"):
        axes_of(run)


def test_phases_behind_a_wave_are_late_by_its_size(delayed):
    from perfield.plots import phase_lag
    from perfield.plots.figures import new_figure

    cells = phase_lag(delayed, axes=new_figure((10, 5)).subplots()).images[0].get_array()
    last = np.ma.filled(cells, np.nan)[:, cells.shape[1] // 2]
    assert last[0] < 5
    assert last[2:].min() > 30, "rank 2 and those behind it are late"


def test_report_shows_the_wave_beside_its_finding(delayed):
    made = report(delayed)
    images, _ = charts.plots(made)
    assert "idle_wave" in [image.name for image in images]
    assert ("idle_wave", "waiting_time_s") in [shown for image in images for shown in image.shows]
