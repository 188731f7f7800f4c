# SPDX-License-Identifier: BSD-3-Clause
"""The splitting parameter and waits (Figures 4 and 5)."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from known_runs.shown_regimes import classified, study, texts

from perfield.plots.style import PlotError, new_figure
from perfield.studies.hiding.model import DYNAMIC
from perfield.studies.hiding.model.study import Comparison
from perfield.studies.hiding.plots import figures
from perfield.studies.regimes import plots as regimes


def test_histogram_counts_the_ranks_by_their_mean_alpha():
    axes = regimes.splitting(
        {"fixed alpha": study(5), "MPI test": study(3, alpha=0.3)}, new_figure().subplots()
    )
    for bar, count, alpha in zip(axes.patches, (5, 3), (0.5, 0.3)):
        assert bar.get_height() == count
        assert bar.get_x() + bar.get_width() / 2 == pytest.approx(alpha)
    assert "fixed alpha: mean 0.50" in texts(axes.figure)


def test_bars_of_methods_at_the_same_alpha_do_not_hide_one_another():
    of_a, of_b = regimes.splitting({"a": study(), "b": study()}, new_figure().subplots()).patches
    assert of_b.get_width() < 0.9 * of_a.get_width() and of_a.get_zorder() == of_b.get_zorder()


def test_waits_above_eps_are_in_excess_and_the_others_hidden():
    figure = regimes.waits_and_splitting(study())
    into, out, alpha = figure.axes
    hidden, excess = into.collections
    assert (len(hidden.get_offsets()), len(excess.get_offsets())) == (30, 30)
    assert len(out.collections[0].get_offsets()) == 0  # 0.3 ms and more
    assert alpha.lines[0].get_ydata() == pytest.approx(np.full(60, 0.5))
    words = texts(figure)
    assert "eps = 100 µs" in words and "50 % are hidden" in words and "mean 400 µs" in words


def test_plot_of_a_study_counts_waits_by_the_eps_that_evaluated_it():
    comparison = Comparison({}, {}, {DYNAMIC: study()}, eps_s=2e-3, notes=())
    (draw,) = [draw for name, _, draw in figures(comparison) if name == "alpha"]
    words = texts(draw())
    assert "eps = 2 ms" in words and "100 % are hidden" in words


def test_rank_that_waits_longest_is_shown_unless_another_is_chosen():
    of = study()
    of["w_out"] = of["w_out"] * np.array([[1.0], [1.0], [3.0], [1.0]])
    assert "rank 2" in texts(regimes.waits_and_splitting(of))
    assert "rank 0" in texts(regimes.waits_and_splitting(of, rank=0))


def test_one_rank_and_waits_of_zero_are_drawn():
    none = study(1, 3)
    none = none.assign(w_in=none["w_in"] * 0, w_out=none["w_out"] * 0)
    assert "100 % are hidden" in texts(regimes.waits_and_splitting(none))


def test_unknown_ranks_and_timings_without_waits_are_refused():
    with pytest.raises(PlotError, match="no rank 7 in this study; choose one of 0 to 3"):
        regimes.waits_and_splitting(study(), rank=7)
    with pytest.raises(PlotError, match="no known w_in"):
        regimes.waits_and_splitting(classified())
    with pytest.raises(PlotError, match="a has no known alpha"):
        regimes.splitting({"a": classified()}, new_figure().subplots())
    with pytest.raises(PlotError, match="no study"):
        regimes.splitting({}, new_figure().subplots())
