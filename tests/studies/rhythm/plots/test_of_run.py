# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the rhythm of a run."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import perfield
from twins import twin

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

from perfield.plots.style import PlotError
from perfield.studies.rhythm import plots as rhythm


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Four ranks, 8 steps; see twin.write_run."""
    return perfield.open(twin.write_run(tmp_path_factory.mktemp("run") / "run", ranks=4, steps=8))


def texts(figure) -> str:
    """All words of a figure."""
    from matplotlib.text import Text

    return " | ".join(text.get_text() for text in figure.findobj(Text))


def test_measured_phases_know_who_receives_from_whom(run):
    phases, steps = rhythm.measured(run)
    assert phases.attrs["source"] == "run" and phases.sizes["oscillator"] == 4
    assert phases.sizes["edge"] > 0
    assert steps.sizes["step"] == 8


def test_ranks_without_a_step_take_no_room_in_a_large_world(tmp_path):
    path = twin.write_run(
        tmp_path / "run", ranks=4, steps=8, change_rank=lambda rank, values: values.update(size=1 << 18)
    )
    phases, _ = rhythm.measured(perfield.open(path))
    assert phases["oscillator"].values.tolist() == [0, 1, 2, 3]


def test_too_many_ranks_for_plots_of_rhythm_are_a_sentence(run, monkeypatch):
    monkeypatch.setattr(sys.modules[rhythm.measured.__module__], "MOST_PHASES", 100)
    with pytest.raises(PlotError, match="4 ranks are too many for plots of rhythm, expected at most 3"):
        rhythm.measured(run)


def test_page_of_a_run_names_it_and_has_its_timeline(run):
    words = texts(rhythm.of_run(run))
    assert "run, 8 steps: 4 ranks" in words and "(a) Steps" in words


def test_chosen_steps_shorten_the_axis_of_time(run):
    whole, _ = rhythm.measured(run)
    some, steps = rhythm.measured(run, slice(2, 4))
    assert steps.sizes["step"] == 3
    assert float(np.ptp(some["time"].values)) < 0.6 * float(np.ptp(whole["time"].values))


def test_run_of_one_step_is_refused_in_a_sentence(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=1))
    with pytest.raises(PlotError, match="step"):
        rhythm.of_run(run)


def test_run_without_messages_has_no_topology(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=4, change_step=twin.without_calls))
    assert "the communication topology" in texts(rhythm.of_run(run))
