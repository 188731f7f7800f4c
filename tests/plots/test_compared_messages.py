# SPDX-License-Identifier: BSD-3-Clause
"""Message matrices before, after and as difference."""

from __future__ import annotations

import numpy as np
import pytest

import perfield
from twins import twin

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from perfield.plots import compared_messages
from perfield.plots.messages import sent_bytes
from perfield.plots.source import Source
from perfield.plots.style import PlotError


def twice(rank, step, values):
    """For `change_step`: rank 2 sends twice as many bytes."""
    if rank == 2:
        for row in values["messages"]:
            row["bytes"] *= 2


def test_matrices_show_the_bytes_of_a_step_and_their_difference(tmp_path):
    before = perfield.open(twin.write_run(tmp_path / "A", steps=5))
    after = perfield.open(twin.write_run(tmp_path / "B", steps=5, change_step=twice))
    figure = compared_messages((before, after), (range(5), range(2, 5)), ("A", "B"))
    shown = [np.asarray(axes.images[0].get_array()) for axes in figure.axes[:3]]
    sent = [sent_bytes(Source(run), np.array([2]))[0] for run in (before, after)]
    factor = np.nanmax(shown[1]) / sent[1].max()
    np.testing.assert_allclose(np.nan_to_num(np.ma.filled(shown[1], 0)), sent[1] * factor)
    apart = sent[1] - sent[0]
    assert np.count_nonzero(shown[2]) == np.count_nonzero(apart) > 0
    np.testing.assert_allclose(shown[2] / shown[2].max(), apart / apart.max())
    low, high = figure.axes[2].images[0].get_clim()
    assert low == -high
    norms = [axes.images[0].get_clim() for axes in figure.axes[:2]]
    assert norms[0] == norms[1]


def test_other_numbers_of_ranks_are_refused(tmp_path):
    runs = [perfield.open(twin.write_run(tmp_path / str(n), ranks=n)) for n in (2, 4)]
    with pytest.raises(PlotError, match="A has 2 ranks, and B has 4"):
        compared_messages(tuple(runs), (range(5), range(5)), ("A", "B"))


def test_runs_without_messages_are_refused(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "A", change_step=twin.without_calls))
    with pytest.raises(PlotError, match="sent a byte to another rank"):
        compared_messages((run, run), ([0], [1]), ("A", "B"))
