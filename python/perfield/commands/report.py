# SPDX-License-Identifier: BSD-3-Clause
"""perfield report: what a run says, in sentences."""

from __future__ import annotations

import argparse

from perfield.commands._newest import add_run, run_path

HELP = "say what costs time, where and why, with pictures and remedies"

DESCRIPTION = "Writes one page about a run: what costs time, where, why, and what is usually done about it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run."""
    add_run(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Prints the findings."""
    import perfield
    from perfield.report import report

    made = report(perfield.open(run_path(arguments.run)))
    for number, finding in enumerate(made.findings, 1):
        print(f"{number}. {finding.words}\n   {finding.remedy}")
    if not made.findings:
        print("Nothing that perfield looks for costs this run time.")
    return 0
