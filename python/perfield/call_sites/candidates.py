# SPDX-License-Identifier: BSD-3-Clause
"""Finds MPI call sites that could mark the end of a program's time steps.

A site is a place that calls MPI, together with its chain of callers. perfield notes sites as long as the
program closes no steps otherwise; see `step_call` in docs/configuration.md.

Sites are compared by counts of calls where possible: these are the same on a busy machine. Time only decides
whether a burst of hits is short compared with the gap to the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from perfield.run.run_directory import RunDirectory

STEADY = 0.7  # a site is regular if at least this share of its intervals resembles the one before
COVERS = 0.5  # sites come first if this share of the run lies between their first and last hit
SHORTEST = 0.05  # ... and with less than this share, a site is of setup
FEWEST = 4  # with fewer hits, neither is known
# Hits come in bursts if the shortest time and the mean number of calls between two bursts exceed those
# between the hits of one by these factors. A step that also writes a file takes longer, but makes few more
# calls; one that exchanges lists makes more calls, but does not take several times as long.
LONGER, MORE_CALLS = 3.0, 2.0
MUCH_LONGER = 8.0  # ... or time alone by this one, as in a halo exchange with few other calls
ALIKE = 0.9  # share of the bursts that must have the same length
# If a run was killed, its ranks wrote their last notes at different times: hits may differ by this
# factor.
UNEVEN_NOTES = 2.5
DIGITS = 4  # of a site's hash in its name; more where two sites of a call would share a name

Caller = tuple[str, int]  # path of a program or library, and an address in it


@dataclass(frozen=True)
class Site:
    """A call with its chain of callers, by names that are the same in all ranks.

    call : "Allreduce". hash : 16 hexadecimal digits. callers : return addresses, innermost first, as one
    rank has them.
    """

    call: str
    hash: str
    callers: tuple[Caller, ...]


@dataclass(frozen=True)
class Candidate:
    """A site that all ranks of a group hit equally often.

    hits : per rank. every : so many hits belong to one step. period_s : time between two steps, s: the
    median over ranks of their means. share : time from first to last hit, as a share of the time from
    the first MPI call to the last. steady : share of the steps that made between half and twice as many MPI
    calls as the one before. is_regular : whether it looks like a time step: often enough, at regular
    intervals, and not in setup alone. group : name of the ranks that step together.
    """

    site: Site
    hits: int
    every: int
    period_s: float
    share: float
    steady: float
    is_regular: bool
    group: str

    @property
    def steps(self) -> int:
        """How many steps its hits count."""
        return self.hits // self.every

    @property
    def closes(self) -> int:
        """How many steps it would close: the first one ends with setup, since nobody knows where it began."""
        return max(self.steps - 1, 0)


def candidates(run: RunDirectory) -> list[Candidate]:
    """All sites of a run that could close its steps, the most likely first.

    Regular sites come first, then those that cover most of the run. Many sites have as many hits as the
    program has steps, or a multiple, while what happens at each tenth step has a tenth of the hits. So the
    number of steps that accounts for most hits comes first, or a small part of it. Sites of equal numbers:
    those with one hit per step first, then those with the shortest chain of callers, which are in the
    outermost loops, then those with the latest first hit: the last call of a loop closes its steps best.
    """
    found = []
    for name, ranks in run.groups.items():
        found += _of_group(run, name, ranks)
    return [candidate for _, candidate in sorted(found, key=lambda pair: pair[0])]


def sites(run: RunDirectory) -> list[Site]:
    """All sites that any rank noted, in the order of the ranks and of their first hits."""
    found = {}
    for _, body in sorted(run.sites.items()):
        for site, _ in sorted(_table(body).values(), key=lambda pair: pair[1]["first_ns"]):
            found.setdefault((site.call, site.hash), site)
    return list(found.values())


def digits(sites: Iterable[Site]) -> dict[Site, int]:
    """How many digits of its hash distinguish each site from the others of the same call."""
    known = list(sites)
    length = {}
    for site in known:
        n = DIGITS
        others = [other.hash for other in known if other.call == site.call and other.hash != site.hash]
        while n < len(site.hash) and any(other.startswith(site.hash[:n]) for other in others):
            n += 1
        length[site] = n
    return length


def _of_group(run: RunDirectory, name: str, ranks: list[int]) -> list[tuple[tuple, Candidate]]:
    """The group's candidates, each as (sort key, candidate)."""
    tables = [_table(run.sites.get(rank, {})) for rank in ranks]
    lengths = [_length_ns(run.sites.get(rank, {})) for rank in ranks]
    killed = not all(rank in run.ends for rank in ranks)
    found = []
    for key, (site, first) in tables[0].items():
        if not all(key in table for table in tables):
            continue
        numbers = [table[key][1] for table in tables]
        hits = [each["hits"] for each in numbers]
        if min(hits) < 2 or max(hits) > min(hits) * (UNEVEN_NOTES if killed else 1):
            continue
        spans = np.array([each["last_ns"] - each["first_ns"] for each in numbers], dtype=np.float64)
        rhythms = [_rhythm(each["rhythm"]) for each in numbers]
        every = Counter(rhythm.every for rhythm in rhythms).most_common(1)[0][0]
        steady = float(np.median([rhythm.steady for rhythm in rhythms]))
        share = float(np.median(spans / np.maximum(lengths, 1)))
        n_steps = int(np.median(hits)) // every
        even = all(rhythm.is_even for rhythm in rhythms) and steady >= STEADY
        candidate = Candidate(
            site=site,
            hits=int(np.median(hits)),
            every=every,
            period_s=float(np.median(spans / np.maximum(np.array(hits) - 1, 1))) * every * 1e-9,
            share=share,
            steady=steady,
            is_regular=even and share >= SHORTEST and n_steps >= FEWEST,
            group=name,
        )
        found.append((first["first_ns"], candidate))
    explained: Counter[int] = Counter()
    none_covers = not any(each.is_regular and each.share >= COVERS for _, each in found)
    for _, candidate in found:
        if candidate.is_regular and (candidate.share >= COVERS or none_covers):
            explained[candidate.steps] += candidate.steps
    best = _number_of_steps(explained)
    return [(_order(candidate, explained, best, first_ns), candidate) for first_ns, candidate in found]


def _number_of_steps(explained: Counter[int]) -> int:
    """The number that accounts for most hits, or a small part of it that several sites have: correctors and
    stages recur two to four times in a step, while output and lists are made at each fifth step or fewer."""
    best = max(explained, key=explained.__getitem__, default=0)
    for part in (4, 3, 2):
        if best % part == 0 and explained[best // part] >= 2 * (best // part) > 0:
            return best // part
    return best


def _order(candidate: Candidate, explained: Counter[int], best: int, first_ns: int) -> tuple:
    depth = len(candidate.site.callers)
    goes_on = candidate.share >= COVERS
    if not candidate.is_regular:
        return (True, not goes_on, depth, -candidate.hits, candidate.every, -first_ns)
    likely = (candidate.steps != best, -explained[candidate.steps])
    return (False, not goes_on, likely, candidate.every, depth, -first_ns)


@dataclass(frozen=True)
class _Rhythm:
    """How the hits of a site lie in time. every : hits per step. steady : see Candidate. is_even : whether
    the bursts in which they come, if any, have one length."""

    every: int
    steady: float
    is_even: bool


def _rhythm(levels: list[list[int]]) -> _Rhythm:
    """Finds bursts of equal length, bursts of such bursts, and so on."""
    every = 1
    for beats, even, bursts, last, same, gaps, inside_ns, between_ns, inside, between in levels:
        share = even / max(beats - 2, 1)
        if bursts < FEWEST - 1:
            return _Rhythm(every, share, True)
        has_even_gaps = abs(gaps - (last - 1) * (bursts + 0.5)) <= (1 - ALIKE) * (gaps + bursts)
        alike = has_even_gaps and same >= ALIKE * (bursts - 1)
        if not (alike and last == 1):
            longer = between_ns / max(inside_ns, 1)
            clearly = longer >= LONGER and between >= MORE_CALLS * inside
            if not alike:  # if clearly so, they are an inner loop, as of a solver that converges
                return _Rhythm(1 if clearly else every, share, not clearly)
            # Without an even share, hits are no steps; but bursts may be.
            if not clearly and longer < MUCH_LONGER and share >= STEADY:
                return _Rhythm(every, share, True)
        every *= max(last, 1)
    # Where calls grow in number, as those of a solver that needs ever more iterations, each hit is a burst.
    return _Rhythm(every, share if levels and last == 1 else 0.0, True)


def _table(body: dict) -> dict[tuple[str, str], tuple[Site, dict]]:
    """The sites of one `sites` entry by (call, hash), which are the same in all ranks."""
    modules = body.get("modules", [])
    table = {}
    for site in body.get("sites", ()):
        numbers = {key: site.get(key, 0) for key in ("hits", "first_ns", "last_ns")}
        numbers["rhythm"] = [level for level in site.get("rhythm", ()) if len(level) == 10]
        callers = [pair for pair in site.get("callers", ()) if 0 <= pair[0] < len(modules)]
        known = Site(
            call=site["call"],
            hash=site["hash"],
            callers=tuple((modules[number], offset) for number, offset in callers),
        )
        table[known.call, known.hash] = known, numbers
    return table


def _length_ns(body: dict) -> int:
    """Time from a rank's first MPI call to its last."""
    return body.get("last_ns", 0) - body.get("first_ns", 0)
