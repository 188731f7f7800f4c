# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the regimes of a run."""

from __future__ import annotations

import json

import numpy as np
import pytest
from known_runs import regime_runs

import perfield
from twins import twin

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from known_runs.shown_regimes import texts
from matplotlib.text import Text

from perfield.plots.style import PlotError
from perfield.studies.regimes import plots as regimes


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two ranks that a planted model slows down in a quarter of the steps."""
    path = tmp_path_factory.mktemp("regimes") / "planted"
    return perfield.open(regime_runs.write(path, regime_runs.planted(n_steps=400)))


@pytest.fixture(scope="module")
def times(run):
    """Its classified times."""
    return regimes.classified(run)


def test_page_shows_when_and_where_and_what_it_cost(run, times):
    words = texts(regimes.of_run(run, times=times))
    assert "planted; 2 ranks, 400 steps" in words and "2 regimes" in words
    assert "Slow steps cost" in words and "Longest time of a step, step by step" in words


def test_second_page_shows_how_times_spread_in_each_regime(run, times):
    words = texts(regimes.spread_of_run(run, times=times))
    assert all(part in words for part in ("Median time of each rank", "Regime: fast", "Regime: slow"))


def test_many_regimes_have_panels_of_their_own_and_a_legend_beside_the_title(run, times):
    model = json.loads(times.attrs["model"])
    n = 6
    rows = {name: [0.0] * n for name in ("location", "scale", "start")}
    model.update(
        rows, scale=[1.0] * n, start=[1 / n] * n, transition=[[1 / n] * n] * n, regime=list(range(n))
    )
    times = times.assign(regime=times["regime"].copy(data=np.arange(800).reshape(2, 400) % n))
    times.attrs["model"] = json.dumps(model)
    figure = regimes.spread_of_run(run, times=times)
    panels = [axes.get_position() for axes in figure.axes]
    assert len(panels) == 2 + 1 + n and {round(panel.y0, 3) for panel in panels[2:]} != {panels[2].y0}
    page = regimes.of_run(run, times=times)
    page.canvas.draw()
    for axes in page.axes:
        for title in axes.findobj(lambda drawn: isinstance(drawn, Text) and "6 regimes" in drawn.get_text()):
            assert title.get_window_extent().x1 < axes.get_legend().get_window_extent().x0
            return
    raise AssertionError("no title says 6 regimes")


def test_injected_latencies_are_reported_on_both_pages(tmp_path, times):
    path = regime_runs.write(tmp_path / "planted", regime_runs.planted(n_steps=400))
    out = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**out, "injected": {"mean_s": 1e-3}}))
    run = perfield.open(path)
    assert "planted, latencies injected; 2 ranks" in texts(regimes.of_run(run, times=times))
    assert "latencies injected; half of its steps" in texts(regimes.spread_of_run(run, times=times))


def test_chosen_steps_are_classified_alone(run):
    assert regimes.classified(run, slice(100, 399))["step"].values[[0, -1]].tolist() == [100, 399]


def test_too_few_steps_and_unknown_fields_are_refused(tmp_path, run):
    short = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=5))
    with pytest.raises(PlotError, match="too few"):
        regimes.classified(short)
    with pytest.raises(PlotError, match="no field or region 'stp_time_s'; did you mean"):
        regimes.classified(run, field="stp_time_s")


def test_frames_of_several_steps_are_called_so_and_count_as_their_steps(run, times):
    spans = np.where(np.arange(400) < 300, 1, 16)
    longer = times.assign_coords(span=("step", spans))
    words = texts(regimes.of_run(run, times=longer))
    assert "2 ranks, 400 frames of 1,900 steps" in words and "frame, counted from 0" in words
    assert "1,900 steps, each as long as" in words
    slow = times["regime"].values == 1
    assert regimes.shown.shares(longer)[1] == pytest.approx((slow @ spans).sum() / (2 * spans.sum()))
