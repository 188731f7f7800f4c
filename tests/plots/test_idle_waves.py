# SPDX-License-Identifier: BSD-3-Clause
"""The plot of an idle wave marks who waited for whom, step by step."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import rhythm_runs

import perfield
from perfield.report import charts, report

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def delayed(delayed_run):
    return perfield.open(delayed_run)


def axes_of(run):
    from perfield.plots import idle_wave
    from perfield.plots.style import new_figure

    figure = new_figure((10, 5.5))
    axes = idle_wave(run, axes=figure.subplots())
    figure.canvas.draw()
    return axes


def test_line_follows_the_ranks_that_wait(delayed):
    axes = axes_of(delayed)
    front, origin = axes.lines
    np.testing.assert_array_equal(front.get_xydata(), [[11, 3], [12, 4], [13, 5], [14, 6], [15, 7]])
    np.testing.assert_array_equal(origin.get_xydata(), [[11, 2]])
    low, high = axes.get_xlim()
    assert (low, high) == (6.5, 19.5), "the wave, and four steps on each side"


def test_colours_reach_the_whole_delay(delayed):
    longest_s = float(delayed.steps.waiting_time_s.sel(step=slice(6, 18)).max())
    assert axes_of(delayed).images[0].get_clim()[1] == pytest.approx(longest_s)


def test_run_without_a_wave_has_no_plot(tmp_path):
    run = perfield.open(rhythm_runs.write(tmp_path / "run", rhythm_runs.even(4, 20)))
    with pytest.raises(perfield.plots.style.PlotError, match="shows no idle wave: no delay of one rank"):
        axes_of(run)


def test_phases_are_periods_behind_the_foremost_rank(tmp_path):
    from perfield.plots import phase_lag
    from perfield.plots.style import new_figure

    run = perfield.open(rhythm_runs.write(tmp_path / "run", rhythm_runs.even(3, 40, 1.0, [0, 2.5, 5])))
    cells = phase_lag(run, axes=new_figure((10, 5)).subplots()).images[0].get_array()
    np.testing.assert_allclose(cells[:, cells.shape[1] // 2], [0, 2.5, 5], atol=1e-6)


def test_report_shows_the_wave_beside_its_finding(delayed):
    made = report(delayed)
    images, _ = charts.plots(made)
    assert "idle_wave" in [image.name for image in images]
    assert ("idle_wave", "waiting_time_s") in [shown for image in images for shown in image.shows]
