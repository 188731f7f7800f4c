# SPDX-License-Identifier: BSD-3-Clause
"""perfield report: what a run says, in sentences, as a page and as text."""

from __future__ import annotations

import argparse
from pathlib import Path

from perfield.commands._newest import add_run, run_path

HELP = "say what costs time, where and why, with pictures and remedies"

DESCRIPTION = """\
Writes one page about a run, RUN/analysis/report.html: what costs time, where, why,
and what is usually done about it; then the tables and plots that show it. The page
is one file, needs no network, and can be mailed.

  perfield report perfield-run
  perfield report perfield-run --text
  perfield report perfield-run -o heat.html --no-pictures"""

MOST_FINDINGS = 3  # that are printed beside the page's path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, the page's file and what to print instead."""
    add_run(parser)
    add = parser.add_argument
    add("-o", "--output", metavar="FILE", help="the page (RUN/analysis/report.html)")
    add("--text", action="store_true", help="print the report as text and write no page")
    add("--no-pictures", action="store_true", help="leave out the mesh and the machine, which need ParaView")


def execute(arguments: argparse.Namespace) -> int:
    """Writes the page, prints its path and the first findings."""
    import perfield
    from perfield.report import report
    from perfield.report.text import as_text, findings_as_text

    path = run_path(arguments.run)
    made = report(perfield.open(path))
    if arguments.text:
        print(as_text(made))
        return 0
    from perfield.report.charts import plots
    from perfield.report.page import page, write

    images, notes = plots(made)
    file = Path(arguments.output) if arguments.output else Path(path, "analysis", "report.html")
    write(file, page(made, images, notes))
    print(f"report     {file}")
    print(findings_as_text(made, MOST_FINDINGS))
    return 0
