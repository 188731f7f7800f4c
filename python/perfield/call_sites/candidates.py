# SPDX-License-Identifier: BSD-3-Clause
"""Call sites of MPI that could tell where a program's time steps end.

A site is a place from which MPI is called, together with how it was reached. Sites are noted as long as
nothing else tells of steps; see `step_call` in docs/configuration.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from perfield.fields.quantities import whole
from perfield.run.run import RunDirectory

STEADY = 0.7  # a site is regular when so many of its intervals are like the one before
COVERS = 0.5  # ... and goes on for most of the run when so much of it lies between first and last hit
FEWEST = 4  # hits below which nothing can be said of either
# Of a run that was killed, the ranks' newest notes are of different moments: hits may differ by so much.
UNEVEN_NOTES = 2.5

Caller = tuple[str, int]  # path of a program or library, and an address in it


@dataclass(frozen=True)
class Candidate:
    """A site that all ranks of a group hit equally often.

    setting : as it is given to step_call ("Allreduce@3"). hits : per rank. period_s : from one hit to the
    next, s; the mean of a rank, and of those the median. share : of the time from the first MPI call to the
    last, how much lies between the first hit and the last. steady : share of the intervals that are at least
    half and at most twice the one before. callers : addresses that the calls return to, innermost first.
    group : name of the ranks that step together.
    """

    setting: str
    hits: int
    period_s: float
    share: float
    steady: float
    callers: tuple[Caller, ...]
    group: str

    @property
    def is_regular(self) -> bool:
        """Whether it looks like a time step: often enough, at regular intervals, over most of the run."""
        return self.hits >= FEWEST and self.steady >= STEADY and self.share >= COVERS


def candidates(run: RunDirectory) -> list[Candidate]:
    """All sites of a run that could close its steps, the most likely first.

    Before all come the regular ones; then those that go on for most of the run; then those with the shortest
    chain of callers, which lie furthest outside; then those hit most often. Of sites alike in all of this the
    one with the latest first hit comes first: the last call of a loop closes its steps best.
    """
    found = []
    for name, ranks in run.groups.items():
        found += _of_group(run, name, ranks)
    return [candidate for _, candidate in sorted(found, key=lambda pair: pair[0])]


def has_sites(run: RunDirectory) -> bool:
    """Whether any rank noted call sites."""
    return any(body.get("sites") for body in run.sites.values())


def _of_group(run: RunDirectory, name: str, ranks: list[int]) -> list[tuple[tuple, Candidate]]:
    """The group's candidates, each behind what it is sorted by."""
    tables = [_table(run.sites.get(rank, {})) for rank in ranks]
    lengths = [_length_ns(table) for table in tables]
    killed = not all(rank in run.ends for rank in ranks)
    found = []
    for identity, first in tables[0].items():
        sites = [table.get(identity) for table in tables]
        if any(site is None for site in sites):
            continue
        hits = [site["hits"] for site in sites]
        if min(hits) < 2 or max(hits) > min(hits) * (UNEVEN_NOTES if killed else 1):
            continue
        spans = np.array([site["last_ns"] - site["first_ns"] for site in sites], dtype=np.float64)
        intervals = np.array(hits) - 1
        setting, callers = identity
        candidate = Candidate(
            setting=setting,
            hits=int(np.median(hits)),
            period_s=float(np.median(spans / intervals)) * 1e-9,
            share=float(np.median(spans / np.maximum(lengths, 1))),
            steady=float(np.median([site["steady"] for site in sites] / np.maximum(intervals - 1, 1))),
            callers=tuple((path, offset) for (path, _), offset in zip(first["modules"], first["offsets"])),
            group=name,
        )
        goes_on = candidate.share >= COVERS
        order = (not candidate.is_regular, not goes_on, len(callers), -candidate.hits, -first["first_ns"])
        found.append((order, candidate))
    return found


def _table(body: dict) -> dict[tuple, dict]:
    """The sites of one `sites` entry by what they are known by in all ranks: setting and callers."""
    modules = [(str(path), PurePath(str(path)).name) for path in body.get("modules") or ()]
    table = {}
    for site in body.get("sites") or ():
        numbers = {key: whole(site.get(key)) for key in ("hits", "steady", "first_ns", "last_ns")}
        callers = [pair for pair in site.get("callers") or () if 0 <= whole(pair[0], -1) < len(modules)]
        numbers["modules"] = [modules[number] for number, _ in callers]
        numbers["offsets"] = [whole(offset) for _, offset in callers]
        setting = f"{site.get('call')}@{site.get('number')}"
        names = tuple((name, offset) for (_, name), offset in zip(numbers["modules"], numbers["offsets"]))
        table[setting, names] = numbers
    return table


def _length_ns(table: dict) -> int:
    """Time from a rank's first MPI call to its last."""
    begin = min((site["first_ns"] for site in table.values()), default=0)
    return max((site["last_ns"] for site in table.values()), default=0) - begin
