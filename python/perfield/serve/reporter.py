# SPDX-License-Identifier: BSD-3-Clause
"""Who makes findings and the report of a run; `perfield serve` hands one in, as the report uses this room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from perfield.derived.run import Run


class Reporter(Protocol):
    """Makes cards and pages. For many threads, one after another."""

    def cards(self, run: Run) -> list[dict[str, Any]]:
        """The findings, what costs most first.

        {"kind", "words", "cost", "remedy", "chance"}, texts, "" where there is nothing to say; and {"frame",
        "field", "rank"}, None for what a finding does not name.
        """

    def page(self, run: Run, linked: bool = True) -> str:
        """The report as HTML, in one file. linked : its findings link to the view.

        Raises ValueError with what is missing.
        """
