# SPDX-License-Identifier: BSD-3-Clause
"""The plots of scaling: what lines, bars and titles say of runs whose values are known."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from known_runs.scaling_runs import measured

import perfield
from perfield.analysis.scaling import scaling
from perfield.analysis.scaling_laws import strong_time
from perfield.plots.speedup import draw
from twins import twin


def words(axes) -> str:
    """The title and the line below it."""
    return " | ".join([*(text.get_text() for text in axes.texts), axes.get_title(loc="left")])


def lines(axes) -> dict[str, np.ndarray]:
    """The values of each line by its words in the legend."""
    handles, labels = axes.get_legend_handles_labels()
    return {
        label: np.asarray((handle[0] if isinstance(handle, tuple) else handle).get_ydata())
        for handle, label in zip(handles, labels)
    }


def test_four_plots_show_speedup_efficiency_regions_and_memory():
    figure = draw(scaling([measured(n) for n in (1, 2, 4, 8)]))
    speedup, efficiency, regions, memory = figure.axes
    expected = 1 / strong_time(np.array([1, 2, 4, 8]), 0.1)
    assert lines(speedup)["measured"] == pytest.approx(expected)
    assert lines(speedup)["ideal"].tolist() == [1, 2, 4, 8]
    assert lines(speedup)["Amdahl's law"][[0, -1]] == pytest.approx(expected[[0, -1]], rel=1e-4)
    assert "Strong scaling: speed-up 4.71 of 8" in words(speedup) and "serial share 10 %" in words(speedup)
    assert lines(efficiency)["efficiency"] == pytest.approx(expected / [1, 2, 4, 8])
    assert {"load balance", "communication efficiency", "computing scales"} < set(lines(efficiency))
    assert list(lines(regions)) == ["serial", "parallel", "step, ideal", "step"]  # by what they lose
    assert lines(memory)["largest rank"] == pytest.approx(np.array([1, 2, 4, 8]))
    assert [label.get_text() for label in memory.get_xticklabels()] == ["1", "2", "4", "8"]


def test_repeated_runs_have_bars_and_bad_fits_no_curve():
    runs = [measured(n, factor * n) for n in (1, 2, 4) for factor in (1.0, 1.1)]
    speedup = draw(scaling(runs)).axes[0]
    assert "Amdahl's law does not describe these times" in words(speedup)
    assert "Amdahl's law" not in lines(speedup)
    (container,) = speedup.containers
    assert container.has_yerr


def test_open_runs_are_drawn(tmp_path):
    runs = [perfield.open(twin.write_run(tmp_path / f"run-{n}", ranks=n, steps=6, run_id=n)) for n in (1, 2)]
    figure = perfield.plots.scaling(runs, "weak")
    figure.savefig(tmp_path / "scaling.svg")
    text = (tmp_path / "scaling.svg").read_text()
    assert "Weak scaling: speed-up" in text and "no law is fitted to two numbers of ranks" in text
