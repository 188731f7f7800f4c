# SPDX-License-Identifier: BSD-3-Clause
"""The first screen after a run: eight lines of the summary, and what fits a terminal."""

from __future__ import annotations

import os
import sys

from perfield.commands._first_screen import MOST, first_screen, fitted

WARNINGS = ["missing    rank 3 of 4 wrote nothing here", "uneven     ranks did different steps"]
FACTS = [f"{label:<11}said" for label in ("imbalance", "why", "cores", "steps", "waiting", "waits")]
LESS = [f"{label:<11}said" for label in ("run", "efficiency", "where", "explained", "messages", "written")]
NEXT = ["next       perfield report run  (serve: browser)"]


def test_short_summaries_are_printed_whole():
    assert first_screen(FACTS + NEXT) == FACTS + NEXT


def test_what_costs_time_stays_in_eight_lines():
    shown = first_screen(FACTS + LESS + NEXT)
    assert len(shown) == MOST and shown[:6] == FACTS
    assert (
        shown[6].startswith("where ")
        and shown[7] == "next       perfield report run  (serve: browser; info: all 13 lines)"
    )


def test_warnings_are_never_left_out():
    assert first_screen(WARNINGS + FACTS + LESS + NEXT)[:8] == WARNINGS + FACTS


def test_what_costs_more_than_the_imbalance_is_never_left_out():
    assert first_screen(["files      most on rank 0", *FACTS, *LESS, *NEXT])[0].startswith("files ")


def test_lines_are_folded_on_a_terminal_alone(monkeypatch):
    line = "waiting    " + "38 % of the time " * 8
    assert fitted(line) == line
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((80, 24)))
    folded = fitted(line).splitlines()
    assert all(len(part) <= 80 for part in folded) and folded[1].startswith(" " * 11 + "38 %")
