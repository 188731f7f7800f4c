# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the regimes of a run."""

from __future__ import annotations

import pytest
import regime_runs

import perfield
import twin

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from shown_regimes import texts

from perfield.plots import regimes
from perfield.plots.style import PlotError


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


def test_chosen_steps_are_classified_alone(run):
    assert regimes.classified(run, slice(100, 399))["step"].values[[0, -1]].tolist() == [100, 399]


def test_too_few_steps_and_unknown_fields_are_refused(tmp_path, run):
    short = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=5))
    with pytest.raises(PlotError, match="too few"):
        regimes.classified(short)
    with pytest.raises(PlotError, match="no field or region 'stp_time_s'; did you mean"):
        regimes.classified(run, field="stp_time_s")
