# SPDX-License-Identifier: BSD-3-Clause
"""Figures 1, 2 and 4, and sweeps: what is drawn of a model."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from perfield.plots.style import PlotError
from perfield.studies.oscillators import plots
from perfield.studies.oscillators.model.potentials import MexicanHat, PiecewiseSine
from perfield.studies.oscillators.model.topologies import chain
from perfield.studies.rhythm import plots as rhythm
from perfield.studies.rhythm.model import phase_dataset
from perfield.studies.rhythm.model.topology import topology

TURN = 2 * np.pi


def test_mexican_hat_is_a_surface_and_a_cut_with_both_minima():
    figure = plots.mexican_hat(MexicanHat(radius=2.0, depth=1.0))
    surface, cut = figure.axes
    assert surface.name == "3d"
    marks = [line.get_xydata()[0].tolist() for line in cut.lines if line.get_marker() == "o"]
    assert marks == [[-2.0, -1.0], [2.0, -1.0]]
    line = cut.lines[0]
    assert np.interp(0.0, line.get_xdata(), line.get_ydata()) == pytest.approx(0.0)


def test_potentials_mark_the_differences_at_which_a_pair_stays():
    figure = plots.potentials(bottlenecked={"piecewise": PiecewiseSine(1.5)})
    (dots,) = [line for line in figure.axes[1].lines if line.get_marker() == "o"]
    assert dots.get_xdata() == pytest.approx([-1.0, 1.0], abs=0.01)  # 2 sigma / 3


def test_matrices_have_a_cell_where_the_row_receives_from_the_column():
    figure = plots.matrices({"one way": chain(5)})
    cells = figure.axes[0].images[0].get_array().filled(0)
    assert cells.tolist() == np.eye(5, k=-1).tolist()
    assert "5 ranks, 4 edges" in figure.axes[0].get_title(loc="left")


def test_matrix_of_many_ranks_joins_them_and_keeps_each_edge():
    figure = plots.matrices({"one edge": topology(4096, np.array([4095]), np.array([8]))})
    cells = figure.axes[0].images[0].get_array().filled(0)
    assert cells.shape == (512, 512) and cells[511, 1] == 1 and cells.sum() == 1


def test_sweep_draws_order_and_spread_of_each_result():
    times = np.linspace(0, 1, 11)
    results = {
        f"{apart:g}": phase_dataset(TURN * (times + np.array([[0.0], [apart]])), times)
        for apart in (0.5, 1.0)
    }
    order, spread = rhythm.sweep(results, "apart").axes
    assert [text.get_text() for text in order.get_legend().get_texts()] == ["0.5", "1"]
    assert [line.get_ydata()[-1] for line in order.lines] == pytest.approx([0.0, 1.0], abs=1e-9)
    assert [line.get_ydata()[-1] for line in spread.lines] == pytest.approx([0.5, 1.0])


def test_sweep_of_nothing_is_refused():
    with pytest.raises(PlotError, match="no result to plot"):
        rhythm.sweep({})
