# SPDX-License-Identifier: BSD-3-Clause
"""Messages by size."""

from __future__ import annotations

import pytest

import perfield
from twins import twin

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from perfield.plots import message_sizes, tiny_senders
from perfield.plots.style import new_figure


def sized(rank, step, values):
    """For `change_step`: rank r sends r tiny messages and one of 70 kB."""
    values["messages"] = [
        {"peer": (rank + 1) % 4, "call": twin.ISEND, "count": rank + 1, "bytes": 70_000 + 8 * rank}
        | twin.sizes_of(*[8] * rank, 70_000)
    ]


def test_messages_are_counted_by_size(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", steps=2, change_step=sized))
    axes = message_sizes(run, axes=new_figure().subplots())
    assert [bar.get_height() for bar in axes.patches] == [12, 0, 0, 0, 8, 0, 0, 0]
    assert "60 %" in [text.get_text() for text in axes.texts]


def test_ranks_with_most_tiny_messages_come_first(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", steps=2, change_step=sized))
    axes = tiny_senders(run, axes=new_figure().subplots())
    assert [label.get_text() for label in axes.get_yticklabels()] == ["rank 1", "rank 2", "rank 3"]
    assert [bar.get_width() for bar in axes.patches] == [2, 4, 6]
    assert [text.get_text() for text in axes.texts if "%" in text.get_text()] == ["50 %", "67 %", "75 %"]
