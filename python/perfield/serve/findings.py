# SPDX-License-Identifier: BSD-3-Clause
"""What the report of a run gives to the page: its findings as cards, and itself."""

from __future__ import annotations

from perfield.serve.followed import View
from perfield.serve.packed import as_json
from perfield.serve.reporter import Reporter

GROWN = 1.25  # a running program is looked at anew when it has so many times the frames
NONE = "This server makes no report; call perfield report RUN."


def findings(view: View) -> bytes:
    """{"findings": [cards]} as `Reporter.cards`."""
    reporter = _reporter(view)
    return view.answers.get(("findings", *_of(view)), lambda: as_json({"findings": reporter.cards(view.run)}))


def report(view: View) -> bytes:
    """The report as HTML."""
    reporter = _reporter(view)
    return view.answers.get(("report", *_of(view)), lambda: reporter.page(view.run).encode())


def _reporter(view: View) -> Reporter:
    if view.reporter is None:
        raise ValueError(NONE)
    return view.reporter


def _of(view: View) -> tuple[str, int]:
    """State, and how often the run has grown by GROWN."""
    n_frames, times = len(view.run), 0
    while view.run.state == "running" and n_frames >= GROWN**times:
        times += 1
    return view.run.state, times
