# SPDX-License-Identifier: BSD-3-Clause
"""What the report of a run gives to the page: its findings as cards, and itself.

`perfield serve` hands in who makes them, as the report uses this room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from perfield.serve.packed import as_json

if TYPE_CHECKING:
    from perfield.derived.run import Run
    from perfield.serve.followed import View

GROWN = 1.25  # a running program is looked at anew when it has so many times the frames
NONE = "This server makes no report; call perfield report RUN."


class NoReportError(ValueError):
    """There is no report; the text says why."""


class Reporter(Protocol):
    """Makes cards and pages. For many threads, one after another."""

    def cards(self, run: Run) -> list[dict[str, Any]]:
        """The findings, what costs most first: {"kind", "words", "cost", "remedy", "chance", "frame", "field",
        "rank"}, texts, "" where there is nothing to say; None for what a finding does not name."""

    def page(self, run: Run) -> str:
        """The report as HTML, in one file. Raises ValueError with what is missing."""


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
        raise NoReportError(NONE)
    return view.reporter


def _of(view: View) -> tuple[str, int]:
    """State, and how often the run has grown by GROWN."""
    n_frames, times = len(view.run), 0
    while view.run.state == "running" and n_frames >= GROWN**times:
        times += 1
    return view.run.state, times
