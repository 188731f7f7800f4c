# SPDX-License-Identifier: BSD-3-Clause
"""Findings of a run whose frames are windows of the clock: no sentence calls these steps."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfield.analysis.findings.answer import Answer
    from perfield.analysis.observed import Observed

# Not options and names (--steps, perfield_step), commands, time steps, and ranks that march in step.
STEP = re.compile(r"(?<![\w-])(?<!perfield )(?<!time )(?<!march in )([Ss])tep(s?)\b")


def speaks_of_windows(observed: Observed) -> bool:
    """Whether sentences on this run call its frames windows; not where the program itself has a step: a
    region or a function of that name would change its name."""
    functions = observed.functions.names if observed.functions else ()
    return observed.has_windows and not any(map(STEP.search, (*observed.regions.values(), *functions)))


def in_windows(answer: Answer) -> Answer:
    """The answer with windows in place of steps, in the words of its question, of its findings, and of what
    would have been found."""
    return replace(
        answer,
        question=_words(answer.question),
        findings=tuple(replace(each, words=_words(each.words)) for each in answer.findings),
        sight=answer.sight and replace(answer.sight, words=_words(answer.sight.words)),
    )


def _words(text: str) -> str:
    return STEP.sub(lambda found: ("Window" if found[1] == "S" else "window") + found[2], text)
