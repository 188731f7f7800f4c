# SPDX-License-Identifier: BSD-3-Clause
"""Flame graphs of ranks, and of the difference between two."""

from __future__ import annotations

import pytest

import perfield
from twins import twin

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from perfield.commands import main
from perfield.plots import flame
from perfield.plots.style import PlotError, new_figure

OUTER, INNER = 1, 2
UNIT = 100_000  # ns


def nested(rank, step, values):
    """outer(10 + rank), and inside it inner(6 + rank)."""
    values["regions"] = [
        twin.region_row(OUTER, (10 + rank) * UNIT, 4 * UNIT),
        twin.region_row(INNER, (6 + rank) * UNIT),
    ]
    values["quantities"] = []
    values["paths"] = [{"path": 2, "region": INNER}]


@pytest.fixture
def run(tmp_path):
    path = twin.write_run(tmp_path / "run", 3, 2, regions=("outer", "inner"), change_step=nested, ended=False)
    for rank in range(3):
        writer = twin.Writer(next((path / "stream").glob("*.pf")), rank)
        writer.sequence = 1000
        writer.add("paths", twin.paths_body([(1, 0, OUTER), (2, 1, INNER)]))
    return perfield.open(path)


def bars(axes):
    """Label, level and width in ms of each bar with a label."""
    return {
        text.get_text(): (round(bar.get_y() + bar.get_height() / 2), round(bar.get_width(), 4))
        for text, bar in zip(axes.texts, axes.patches)
        if text.get_text()
    }


def test_regions_are_on_the_regions_around_them(run):
    found = bars(flame(run, axes=new_figure().subplots(), rank=2))
    assert found["outer"] == (0, 1.2) and found["inner"] == (1, 0.8)


def test_a_difference_is_as_wide_as_the_longer_rank_and_says_how_much_longer(run):
    found = bars(flame(run, axes=new_figure().subplots(), rank=2, beside=0))
    assert found["outer +0.2 ms"] == (0, 1.2) and found["inner +0.2 ms"] == (1, 0.8)


def test_a_rank_that_is_not_there_is_an_error(run):
    with pytest.raises(PlotError, match="has no rank 3; it has ranks 0 to 2"):
        flame(run, axes=new_figure().subplots(), rank=3)


def test_the_command_draws_both_graphs(run, tmp_path, capsys):
    assert main(["plot", str(run.path), "--flame", "-o", str(tmp_path / "flame.svg")]) == 0
    drawn = (tmp_path / "flame.svg").read_text()
    assert "Where the time of rank" in drawn and "What rank" in drawn
