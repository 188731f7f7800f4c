# SPDX-License-Identifier: BSD-3-Clause
"""Finds MPI call sites that could mark the end of a program's time steps.

A site is a place that calls MPI, together with its chain of callers. perfield notes sites as long as the
program closes no steps otherwise; see `step_call` in docs/configuration.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from perfield.fields.quantities import whole
from perfield.run.run import RunDirectory

STEADY = 0.7  # a site is regular if at least this share of its intervals resembles the one before
COVERS = 0.5  # ... and at least this share of the run lies between its first and last hit
FEWEST = 4  # with fewer hits, neither can be judged
# If a run was killed, its ranks wrote their last notes at different times: hits may differ by this
# factor.
UNEVEN_NOTES = 2.5

Caller = tuple[str, int]  # path of a program or library, and an address in it


@dataclass(frozen=True)
class Candidate:
    """A site that all ranks of a group hit equally often.

    setting : value for step_call ("Allreduce@3"). hits : per rank. period_s : time between two hits, s:
    the median over ranks of their means. share : time from first to last hit, as a share of the time from
    the first MPI call to the last. steady : share of the intervals between half and twice the one before.
    callers : return addresses, innermost first. group : name of the ranks that step together.
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
    """All sites of a run that could close its steps, the most likely first. Regular sites come first;
    then those that cover most of the run; then those with the shortest chain of callers, which are in the
    outermost loops; then those hit most often. Among equals, the one with the latest first hit wins: the
    last call of a loop closes its steps best.
    """
    found = []
    for name, ranks in run.groups.items():
        found += _of_group(run, name, ranks)
    return [candidate for _, candidate in sorted(found, key=lambda pair: pair[0])]


def has_sites(run: RunDirectory) -> bool:
    """Whether any rank noted call sites."""
    return any(body.get("sites") for body in run.sites.values())


def _of_group(run: RunDirectory, name: str, ranks: list[int]) -> list[tuple[tuple, Candidate]]:
    """The group's candidates, each as (sort key, candidate)."""
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
    """The sites of one `sites` entry by (setting, callers), which are the same in all ranks."""
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
