# SPDX-License-Identifier: BSD-3-Clause
"""Both halves of MatVecs against one another (Figures 7 and 8)."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from known_runs.shown_regimes import classified, study, texts

from perfield.plots.style import PlotError
from perfield.studies.regimes import plots as regimes

NAMED = {"fixed alpha": study(), "dynamic alpha": study(alpha=0.3)}


def points(axes):
    return np.unique(
        np.round(np.concatenate([np.asarray(c.get_offsets()) for c in axes.collections]), 9), axis=0
    )


def test_dots_are_the_times_of_both_halves():
    figure = regimes.in_and_out({"fixed alpha": study()})
    assert points(figure.axes[0]) == pytest.approx(np.array([[0.5, 0.8], [1.3, 1.8]]))  # ms
    assert "model; a dot is a MatVec of a rank" in texts(figure)


def test_dashed_curve_is_where_both_halves_take_the_time_of_computing_alone():
    (curve,) = regimes.in_and_out({"fixed alpha": study()}).axes[0].lines
    assert curve.get_xdata() + curve.get_ydata() == pytest.approx(np.full(400, 1.0))  # ms


def test_sides_show_where_the_dots_are_and_do_not_smooth():
    above = regimes.in_and_out({"fixed alpha": study()}).axes[1].patches[0].get_data()
    assert np.count_nonzero(above.values) == 2 and above.values.sum() == pytest.approx(100)


def test_histogram_adds_up_to_all_matvecs_that_the_axis_shows():
    steps = regimes.totals({"fixed alpha": study()}).patches[0].get_data()
    assert steps.values.sum() == pytest.approx(100)
    assert (steps.edges[0], steps.values[0]) == (pytest.approx(1.3), pytest.approx(50))  # ms, half of all


def test_each_regime_has_its_own_dots():
    fast, slow = regimes.in_and_out_by_regime(NAMED).axes
    assert points(fast) == pytest.approx(np.array([[0.3, 0.8], [0.5, 0.8]]))
    assert points(slow) == pytest.approx(np.array([[1.3, 1.8]]))


@pytest.mark.parametrize(
    "small",
    [
        study(1, 2),
        study(2, 1).assign(regime=1 + study(2, 1)["regime"] * 0),
        study(3, 8).assign(regime=1 - study(3, 8)["regime"] * 0),
    ],
)
def test_one_rank_one_matvec_and_empty_regimes_are_drawn(small):
    assert "T_in + T_out (ms)" in texts(regimes.in_and_out({"a": small}))
    assert "Regime: fast" in texts(regimes.in_and_out_by_regime({"a": small}))


def test_regime_of_nobody_is_said_to_be_empty():
    named = {"a": study(2, 8).assign(regime=study(2, 8)["regime"] * 2)}
    assert "no MatVec is in this regime" in texts(regimes.in_and_out_by_regime(named))


def test_timings_without_halves_and_no_study_are_refused():
    for plot in (regimes.in_and_out, regimes.in_and_out_by_regime, regimes.totals):
        with pytest.raises(PlotError, match="a has no t_in and t_out"):
            plot({"a": classified()})
        with pytest.raises(PlotError, match="no study"):
            plot({})
