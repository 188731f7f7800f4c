# SPDX-License-Identifier: BSD-3-Clause
"""What costs time in a run, and why: one module per kind of finding.

Each module has QUESTION, what it asks; KINDS, those of the findings that it may yield; NEEDS, names of fields
without which it cannot answer ("<region>_..." for any region; "steps" for two steps or more); and find(),
which yields findings. It may have lacks(), which says what else it would have needed to say no; sees(), a
Sight of what it would have found, which is how far its no goes (`sight.of_cost` if it has none); ANSWERED_BY,
kinds of other questions' findings that answer it, too; EXPLAINS, by kind of its findings, the kinds that are
their consequences where they name no other ranks; and EXPLAINS_ALL, those that are consequences whatever they
name. To add one, write a module and add it to QUESTIONS; studies give theirs by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from types import ModuleType

import numpy as np

from perfield import extras
from perfield.analysis.findings import (
    bursts,
    calls_on_files,
    empty_messages,
    far_devices,
    far_partners,
    idle_threads,
    idle_wave,
    imbalance,
    imbalance_place,
    io_by_one_rank_per_node,
    io_through_few_ranks,
    memory_growth,
    messages_to_no_neighbours,
    messages_to_one_rank,
    moved_ranks,
    noise,
    output_steps,
    packed_ranks,
    shared_cores,
    slow_nodes,
    steps_get_slower,
    taken_pus,
    time_per_call,
    tiny_messages,
    wait_causes,
    waited_for,
    without_work,
)
from perfield.analysis.findings.answer import Answer
from perfield.analysis.findings.finding import LATE, Finding, Picture
from perfield.analysis.findings.sight import Sight, of_cost
from perfield.analysis.findings.windows import in_windows, speaks_of_windows
from perfield.analysis.observed import Observed
from perfield.studies import given, loaded

__all__ = [
    "OF_PLACEMENT",
    "QUESTIONS",
    "Answer",
    "Finding",
    "Picture",
    "Sight",
    "answers",
    "explains",
    "needs",
    "placement_findings",
    "ranked",
]

# Their find() takes worth, the least share of the run's time that they report; `perfield placement` reports
# all.
OF_PLACEMENT: tuple[ModuleType, ...] = (
    shared_cores,
    taken_pus,
    packed_ranks,
    far_devices,
    moved_ranks,
    idle_threads,
    far_partners,
)
QUESTIONS: tuple[ModuleType, ...] = (
    imbalance,
    without_work,
    slow_nodes,
    imbalance_place,
    messages_to_one_rank,
    wait_causes,
    waited_for,
    idle_wave,
    time_per_call,
    empty_messages,
    messages_to_no_neighbours,
    bursts,
    tiny_messages,
    io_by_one_rank_per_node,
    io_through_few_ranks,
    calls_on_files,
    output_steps,
    *OF_PLACEMENT,
    steps_get_slower,
    memory_growth,
    *map(loaded, given("FINDINGS").values()),
    noise,
)
PU = re.compile(r"\bPUs?\b")
WHAT_PUS_ARE = {"PU": "hwloc's word for a hardware thread", "PUs": "hwloc's word for hardware threads"}
# A late rank comes behind files that explain it.
WRITERS = ("I/O through few ranks", "I/O by one rank per node", "file calls of few ranks")


def needs(questions: Iterable[ModuleType] = QUESTIONS) -> list[str]:
    """Names of all fields that the questions may use, those that they need and those they like to have."""
    names = (name for module in questions for name in (*module.NEEDS, *getattr(module, "LIKES", ())))
    return list(dict.fromkeys(names))


def answers(observed: Observed, questions: Iterable[ModuleType] = QUESTIONS) -> list[Answer]:
    """Asks each question. There are no findings where the run lacks what a question needs, or this Python an
    optional package."""
    asked = [(module, _answer(observed, module)) for module in questions]
    found = {finding.kind for _, answer in asked for finding in answer.findings}
    answered = [_with_elsewhere(answer, module, found) for module, answer in asked]
    return [in_windows(answer) for answer in answered] if speaks_of_windows(observed) else answered


def _with_elsewhere(answer: Answer, module: ModuleType, found: set[str]) -> Answer:
    kinds = tuple(kind for kind in getattr(module, "ANSWERED_BY", ()) if kind in found)
    return replace(answer, sight=None, elsewhere=kinds) if kinds and answer.sight else answer


def _answer(observed: Observed, module: ModuleType) -> Answer:
    missing = tuple(name for name in module.NEEDS if not observed.has(name))
    if not observed.has("steps"):  # no steps of any kind
        missing = tuple("steps" if name == "time steps" else name for name in missing)
    try:
        found = () if missing else tuple(module.find(observed))
        if not missing and not found and hasattr(module, "lacks"):
            missing = module.lacks(observed)
        sight = None if missing or found else getattr(module, "sees", of_cost)(observed)
    except ModuleNotFoundError as error:
        if not (package := extras.missing(error)):
            raise
        return Answer(module.QUESTION, (), package=package)
    return Answer(module.QUESTION, found, missing, sight)


def ranked(answered: Iterable[Answer]) -> list[Finding]:
    """All findings, the costliest first: by what they would save, or else take (`Finding.cost_s`). Those
    without a known cost come last, in the order of questions. The first that mentions PUs says what they are.

    A rank that all wait for comes behind files that one rank uses for all, if these explain half of it:
    it may wait for that rank itself, in calls that do not show for whom.
    """
    all_of_them = [finding for answer in answered for finding in answer.findings]
    kept = [finding for finding in all_of_them if not any(explains(cause, finding) for cause in all_of_them)]

    files = [each.saved_s or 0.0 for each in kept if each.kind in WRITERS]

    def place(finding: Finding) -> tuple[float, bool]:
        own_s = finding.cost_s
        behind = [cost_s for cost_s in files if finding.kind in LATE and own_s / 2 <= cost_s < own_s]
        return -min([own_s, *behind]), bool(behind)

    return _with_pu_explained(sorted(kept, key=place))


def _with_pu_explained(found: list[Finding]) -> list[Finding]:
    """The findings, the first of which that speaks of PUs says what they are."""
    for number, finding in enumerate(found):
        words = PU.sub(lambda name: f"{name[0]} ({WHAT_PUS_ARE[name[0]]})", finding.words, count=1)
        if words != finding.words:
            return [*found[:number], replace(finding, words=words), *found[number + 1 :]]
    return found


def explains(cause: Finding, finding: Finding) -> bool:
    """Whether a finding is a consequence of a cause that costs at least half of it: ranks are slow because of
    where they sit, or in a slow regime alone."""
    if finding.in_cpu_time and cause.kind in taken_pus.KINDS:
        return False
    if finding.kind not in _explained("EXPLAINS_ALL").get(cause.kind, ()):
        if finding.kind not in _explained("EXPLAINS").get(cause.kind, ()) or not len(finding.ranks):
            return False
        if not np.isin(finding.ranks, cause.ranks).all():
            return False
    return (cause.saved_s or 0.0) >= (finding.saved_s or 0.0) / 2


@cache
def _explained(name: str) -> dict[str, Iterable[str]]:
    """What each kind of cause explains, as the modules of the questions say; they must be loaded by now."""
    return {kind: kinds for module in QUESTIONS for kind, kinds in getattr(module, name, {}).items()}


def placement_findings(observed: Observed) -> list[Finding]:
    """All findings about the placement of ranks, the costliest first, even if the cost is small or
    unknown."""
    found = [finding for module in OF_PLACEMENT for finding in module.find(observed, worth=0.0)]
    return _with_pu_explained(sorted(found, key=lambda finding: -finding.cost_s))
