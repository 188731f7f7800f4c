# SPDX-License-Identifier: BSD-3-Clause
"""What ranks do in a MatVec (Figure 3)."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from known_runs.shown_regimes import classified, study

from perfield.plots.style import PlotError, new_figure
from perfield.studies.regimes import plots as regimes


def test_bars_follow_one_another_with_the_mirror_between_both_halves():
    axes = regimes.timeline(study(2), new_figure().subplots(), step=0)
    bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches[::2]]  # of rank 0, in ms
    parts = [(0, 0.5), (0.5, 0), (0.5, 0.2), (0.7, 0.5), (1.2, 0.3)]
    assert np.array(bars) == pytest.approx(np.array(parts))
    assert "model; alpha 0.50" in axes.get_title(loc="left")


def test_mirror_of_a_record_takes_what_was_recorded():
    of = study(2).assign(t_mirror=(("rank", "step"), np.full((2, 60), 1e-4)))
    axes = regimes.timeline(of, new_figure().subplots(), step=0)
    assert axes.patches[4].get_width() == pytest.approx(0.1)  # ms


def test_mirror_of_a_model_may_differ_by_rank():
    of = study(2).assign_attrs(parameters=json.dumps({"mirror_s": [1e-4, 3e-4]}))
    axes = regimes.timeline(of, new_figure().subplots(), step=0)
    assert [bar.get_width() for bar in axes.patches[4:6]] == pytest.approx([0.1, 0.3])  # ms


def test_ranks_that_start_later_are_drawn_later():
    of = study(2).assign(t_start=(("rank", "step"), np.array([[7.0] * 60, [7.001] * 60])))
    axes = regimes.timeline(of, new_figure().subplots(), step=3)
    assert [bar.get_x() for bar in axes.patches[:2]] == pytest.approx([0, 1], abs=1e-9)


def test_methods_are_drawn_at_the_same_matvec_on_one_scale():
    figure = regimes.timelines({"fixed": study(), "dynamic": study(alpha=0.3)})
    above, below = figure.axes
    assert above.get_xlim() == below.get_xlim()
    (chosen,) = {text.get_text().split(": ")[1] for axes in figure.axes for text in axes.texts}
    assert chosen.startswith("MatVec ")


def test_of_many_ranks_eight_are_drawn_and_one_alone_too():
    assert len(regimes.timeline(study(100), new_figure().subplots()).get_yticks()) == 8
    assert len(regimes.timeline(study(1, 1), new_figure().subplots()).get_yticks()) == 1


def test_unknown_matvec_and_timings_without_halves_are_refused():
    with pytest.raises(PlotError, match="no MatVec 99 in this study; choose one of 0 to 59"):
        regimes.timeline(study(), new_figure().subplots(), step=99)
    with pytest.raises(PlotError, match="no t_in, t_out, w_in, w_out"):
        regimes.timeline(classified(), new_figure().subplots())
    with pytest.raises(PlotError, match="no study"):
        regimes.timelines({})
