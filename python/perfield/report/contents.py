# SPDX-License-Identifier: BSD-3-Clause
"""What a report says, before it becomes a page, text or JSON."""

from __future__ import annotations

from dataclasses import dataclass

from perfield.analysis.findings import Answer, Finding, answers, needs, ranked
from perfield.analysis.observed import Observed
from perfield.run import RunDirectory
from perfield.run.observe import observe


@dataclass(frozen=True)
class Report:
    """A run's report.

    run : it is about. observed : what was read of it. answers : to each question. findings : the dearest
    first.
    """

    run: RunDirectory
    observed: Observed
    answers: tuple[Answer, ...]
    findings: tuple[Finding, ...]


def report(run: RunDirectory) -> Report:
    """Reads the run and asks all questions."""
    observed = observe(run, needs())
    answered = tuple(answers(observed))
    return Report(run, observed, answered, tuple(ranked(answered)))
