# SPDX-License-Identifier: BSD-3-Clause
"""The report of a run for the page of `perfield serve`."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfield.derived.run import Run
    from perfield.report import Report

SHOWN_BESIDE = "This report has no pictures of mesh and machine, because the browser view shows both."


class RunReporter:
    """Makes what `perfield.serve.reporter.Reporter` promises, cards and page from one report."""

    def __init__(self) -> None:
        self._lock = Lock()  # matplotlib draws for one thread
        self._made: tuple[Run, Report] | None = None

    def _report(self, run: Run) -> Report:
        from perfield.report import report

        if self._made is None or self._made[0] is not run:
            self._made = run, report(run)
        return self._made[1]

    def cards(self, run: Run) -> list[dict[str, Any]]:
        """The findings as cards."""
        from perfield.report.sections import chance, cost
        from perfield.report.view import view_of

        with self._lock:
            made = self._report(run)
            cards = []
            for finding in made.findings:
                view = view_of(finding, made)
                where = {name: getattr(view, name, None) for name in ("frame", "field", "rank")}
                about = {"kind": finding.kind, "words": finding.words, "remedy": finding.remedy}
                words = {"cost": cost(finding, made), "chance": chance(finding)}
                cards.append({**about, **words, **where})
        return cards

    def page(self, run: Run, linked: bool = True) -> str:
        """The report, without the pictures of mesh and machine, which the page itself shows."""
        from perfield.report.charts import plots
        from perfield.report.page import page

        with self._lock:
            made = self._report(run)
            images, missing = plots(made)
            return page(made, images, [*missing, SHOWN_BESIDE], linked=linked)
