# SPDX-License-Identifier: BSD-3-Clause
"""The progress bar."""

from __future__ import annotations

import io
import sys

import pytest

from perfield.text.terminal import Progress


class Terminal(io.StringIO):
    """A fake terminal."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch, stream, total):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("drawing images", total) as progress:
        for number in range(total):
            progress.advance(number)
    return stream.getvalue()


def test_terminal_shows_task_and_count(monkeypatch):
    text = shown(monkeypatch, Terminal(), 3)
    assert "drawing images" in text
    assert "3/3" in text


@pytest.mark.parametrize(("stream", "total"), [(io.StringIO(), 3), (Terminal(), 1)])
def test_nothing_is_shown_elsewhere_or_for_one_step(monkeypatch, stream, total):
    assert shown(monkeypatch, stream, total) == ""
