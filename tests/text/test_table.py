# SPDX-License-Identifier: BSD-3-Clause
"""Tables, as text and on a terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import sys

import pytest

from perfield.text import Table, format_table, print_table
from perfield.text.streams import prepare_streams
from perfield.text.terminal import print_labelled

ROWS = [
    {"rank": 3, "host": "node[0]", "bytes": 2e12, "time_s": 0.25, "source": -1},
    {"rank": 12, "host": "a\x1b[31m", "bytes": 12, "time_s": None, "source": 4},
]
PLAIN = """\
rank  host      bytes  time_s  source
   3  node[0]    2 TB    0.25  others
  12  a\\x1b[31m   12 B       -       4"""


def test_numbers_are_flush_right_below_their_names():
    lines = format_table(ROWS).splitlines()
    assert [line.split() for line in lines] == [line.split() for line in PLAIN.splitlines()]
    assert lines[1].startswith("   3  node[0]") and lines[2].endswith("4")
    assert format_table([]) == "(none)"


def test_columns_of_text_cells_are_as_their_headings_say():
    table = Table(("name", ">time"), (("a", "1 s"), ("bcdef", "12 s")))
    assert list(table.lines) == ["name   time", "a       1 s", "bcdef  12 s"]
    assert format_table(table).splitlines() == list(table.lines)


class Terminal(io.StringIO):
    """A fake terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch) -> Terminal:
    """Makes stdout a terminal that is narrower than the table."""
    for name, value in {"TERM": "xterm", "COLUMNS": "20"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", Terminal())
    return sys.stdout


def unstyled(text: str) -> list[str]:
    return [line.rstrip() for line in re.sub("\x1b\\[[0-9;]*m", "", text).splitlines()]


def test_a_terminal_gets_the_same_table_with_bold_names(monkeypatch):
    shown = terminal(monkeypatch)
    print_table(ROWS)
    text = shown.getvalue()
    assert "\x1b[1m" in text, "bold"
    assert "\x1b[31m" not in text, "a name is not obeyed"
    assert [line.split() for line in unstyled(text)] == [line.split() for line in PLAIN.splitlines()]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_without_styles_gets_plain_text(monkeypatch, name, value):
    shown = terminal(monkeypatch)
    monkeypatch.setenv(name, value)
    print_table(ROWS)
    print_labelled(["damage     much"])
    assert shown.getvalue() == f"{format_table(ROWS)}\ndamage     much\n"


def test_labels_stand_out_and_the_rest_is_as_it_was(monkeypatch):
    shown = terminal(monkeypatch)
    line = f"imbalance  1.2: [bold] {'x' * 100} \x1b[31m"
    print_labelled([line, "without"])
    text = shown.getvalue()
    assert unstyled(text) == [line.replace("\x1b", "\\x1b"), "without"]
    assert text.startswith("\x1b[1mimbalance\x1b[0m")


def test_the_streams_of_a_command_take_styles_of_a_real_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    reading, writing = pty.openpty()
    with os.fdopen(writing, "w", encoding="ascii") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        prepare_streams()
        print_table([{"name": "löse", "time": "8 µs"}])
        stream.flush()
        text = os.read(reading, 1000).decode("ascii")
        monkeypatch.undo()
    os.close(reading)
    assert "\x1b[1mname" in text and unstyled(text)[-1].split() == ["l?se", "8", "us"]
