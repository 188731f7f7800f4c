# SPDX-License-Identifier: BSD-3-Clause
"""Steps that are slow for a while, again and again, although the program does the same in them.

This looks at the longest rank of each step alone, and asks whether two levels lie apart and take turns in
stretches. `perfield.studies.regimes.model` fits a model of every rank where a user asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from perfield.analysis.chance import chance_of_hits
from perfield.analysis.findings import idle_wave
from perfield.analysis.findings.finding import CONSEQUENCES, OF_SLOW_STEPS, WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.placed import crowded, disturbed, hosts_of
from perfield.analysis.findings.sight import Sight
from perfield.analysis.findings.step_costs import lengths_s
from perfield.analysis.observed import Observed
from perfield.analysis.steps import output_steps
from perfield.text import counted, in_number, in_percent, in_ranks, in_seconds

QUESTION = "Are steps slow for a while, although the program does the same?"
KINDS = ("slow regime",)
EXPLAINS, EXPLAINS_ALL = {"slow regime": CONSEQUENCES}, {"slow regime": OF_SLOW_STEPS}
NEEDS = ("step_time_s", "compute_time_s", "time steps")
WORK = ("sent_count", "sent_bytes", "received_bytes", "io_write_bytes", "io_read_bytes", "cells")
LIKES = (
    *("waiting_time_s", "<region>_count", "involuntary_switches", "cpu_user_time_s", "cpu_system_time_s"),
    *(*WORK, *idle_wave.NEEDS, *idle_wave.LIKES),
)
CHANCE = 1e-6  # that slow steps follow one another so often
FEWEST = 100  # steps
LEAST, LEAST_SHARE = 10, 0.02  # steps of a level, and their share
SLOWER = 1.2  # times the fast level
SLOWER_S = 2e-5  # than the fast level: what closing a step costs, and a clock's steps, are less
APART = 2.0  # times the scatter inside both levels
BETWEEN = 0.1  # of the steps may lie in the middle third between the levels
LASTS = 4.0  # steps, on average: less is a matter of single steps
MANY = 4  # stretches in equal distances are the program's own
EVEN = 0.1  # scatter of their distances, relative
MORE_WORK = 1.1  # of messages, bytes or regions, in slow steps: the program does more there
WHERE = {"compute_time_s": " in computing", "waiting_time_s": " in calls of MPI", "step_time_s": ""}
HALF = 0.5  # of what slow steps take longer: in computing, or on a rank, that is named


@dataclass(frozen=True)
class Levels:
    """Two levels of a series. slow : bool (n_steps,). fast_s, slow_s : their medians. n_stretches : how often
    the slow one comes. chance : that slow steps follow one another so often, in any order."""

    slow: np.ndarray
    fast_s: float
    slow_s: float
    n_stretches: int
    chance: float


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the slow regime, where it is, and by how much steps would be shorter without it.

    Ranks that share cores, and machines on which others take the PUs, are left to the findings about these.
    So are single delays that travel. Where slow steps send more, or run regions more often, it is the program
    that does more.
    """
    if observed.n_steps < FEWEST:
        return
    lengths = lengths_s(observed)
    written = observed.written_per_step()
    writes = np.zeros(len(lengths), bool) if written is None else output_steps(written[:, np.newaxis])
    found = levels(lengths, ~writes)
    if found is None or found.chance > CHANCE:
        return
    span = observed.span if len(observed.span) else np.ones(len(lengths))
    if found.slow_s - found.fast_s < SLOWER_S:
        return
    saved_s = float(((lengths - found.fast_s) * span)[found.slow].sum())
    if saved_s < WORTH_REPORTING * observed.elapsed_s or _does_more(observed, found.slow, writes):
        return
    if observed.placement is not None and crowded(observed.placement)[observed.ranks].any():
        return
    if observed.has("involuntary_switches") and disturbed(observed).any():
        return
    waves = [wave.delay_s for wave in idle_wave.worth_reporting(observed)]
    if sum(waves) >= HALF * saved_s:
        return
    field, columns, hosts, where = _place(observed, found, writes)
    share = found.slow.sum() / (~writes).sum()
    mean_length = found.slow.sum() / found.n_stretches
    yield Finding(
        kind="slow regime",
        words=f"The run has a slow regime: {in_percent(share)} of the steps take {in_seconds(found.slow_s)}, "
        f"the others {in_seconds(found.fast_s)}, although the program does the same in them. Slow steps come "
        f"in {counted(found.n_stretches, 'stretch').replace('stretchs', 'stretches')} of "
        f"{in_number(mean_length)} on average{where}.",
        saved_s=saved_s,
        remedy="Look for what else used the machine then: other jobs on the nodes or the network, clock "
        "rate, backups. `perfield lab regimes RUN --events` shows when it was slow, `perfield render RUN "
        "--regimes --images` where; compare versions of the program within one regime.",
        picture=Picture("heat_map", field),
        ranks=observed.ranks[columns] if len(columns) < len(observed.ranks) else observed.ranks[:0],
        steps=observed.index[found.slow],
        hosts=hosts,
        chance=found.chance,
    )


def sees(observed: Observed) -> Sight:
    """Two levels are reported where they lie apart."""
    if observed.n_steps < FEWEST:
        return Sight(f"It takes {FEWEST} steps to see that; the run has {observed.n_steps}.", False)
    return Sight(
        f"A level that is {in_percent(SLOWER - 1)} slower, lasts {LASTS:g} steps and more at a time, and "
        f"takes {in_percent(LEAST_SHARE)} of the steps would have been found."
    )


def levels(lengths: np.ndarray, counts: np.ndarray) -> Levels | None:
    """Two levels that lie apart and take turns in stretches; None if there are none.

    lengths : s, (n_steps,). counts : bool, steps that count; others, such as output steps, are passed over.
    The cut is the one with the largest variance between both sides (Otsu, 1979), of logarithms.
    """
    counts = counts & (lengths > 0)
    n = int(counts.sum())
    if n < FEWEST:
        return None
    values = np.log(lengths[counts])
    cut = _cut(values)
    if cut is None:
        return None
    slow = values > cut
    fast_at, slow_at = np.median(values[~slow]), np.median(values[slow])
    scatter = sum(1.4826 * np.median(np.abs(v - np.median(v))) for v in (values[slow], values[~slow]))
    third = (slow_at - fast_at) / 3
    between = ((values > fast_at + third) & (values < slow_at - third)).mean()
    if slow_at - fast_at < max(np.log(SLOWER), APART * scatter) or between > BETWEEN:
        return None
    begins = np.flatnonzero(np.diff(slow.astype(int), prepend=0) == 1)
    jumps = np.abs(np.diff(values))[np.diff(slow.astype(int)) != 0]
    # Slow at one end alone is a start, or another phase of the program; a slow change is a drift.
    if len(jumps) < 2 or np.median(jumps) < HALF * (slow_at - fast_at) or slow.sum() < LASTS * len(begins):
        return None
    if len(begins) >= MANY and np.diff(begins).std() <= EVEN * np.diff(begins).mean():
        return None
    n_slow = int(slow.sum())
    chance = chance_of_hits(n_slow - len(begins), n_slow, n_slow / n)
    where = np.zeros(len(lengths), bool)
    where[np.flatnonzero(counts)[slow]] = True
    return Levels(where, float(np.exp(fast_at)), float(np.exp(slow_at)), len(begins), chance)


def _cut(values: np.ndarray) -> float | None:
    """The value that divides values best in two; None where they hardly differ."""
    ordered = np.sort(values)
    n = len(ordered)
    low, high = np.quantile(ordered, [0.01, 0.99])  # a few steps far away are no level
    sums = np.cumsum(np.clip(ordered, low, high))
    least = max(LEAST, int(np.ceil(LEAST_SHARE * n)))
    below = np.arange(least, n - least + 1)
    if not len(below) or ordered[-1] - ordered[0] < np.log(SLOWER):
        return None
    apart = (sums[-1] - sums[below - 1]) / (n - below) - sums[below - 1] / below
    best = int(below[(below * (n - below) * apart**2).argmax()])
    return float((ordered[best - 1] + ordered[best]) / 2)


def _does_more(observed: Observed, slow: np.ndarray, writes: np.ndarray) -> bool:
    """Whether the program sends, reads or writes more in slow steps, or runs a region more often."""
    fast = ~slow & ~writes
    for name in WORK:
        total = observed.totals.get(name)
        if total is not None and _differs(total[slow], total[fast]):
            return True
    slow_row, fast_row = (_rows(observed, chosen) for chosen in (slow, fast))
    return any(
        _differs(np.nansum(table[slow_row], axis=1), np.nansum(table[fast_row], axis=1))
        for table in observed.of_regions("<region>_count").values()
    )


def _differs(slow: np.ndarray, fast: np.ndarray) -> bool:
    """Whether there is much more of something in slow steps: on average, or in the median step."""
    if not len(slow) or not len(fast):
        return False
    return any(of(slow) > MORE_WORK * of(fast) for of in (np.mean, np.median))


def _rows(observed: Observed, chosen: np.ndarray) -> np.ndarray:
    """The rows of the tables most of whose steps are chosen."""
    n = np.bincount(observed.row)
    return np.flatnonzero(np.bincount(observed.row, chosen, len(n)) > n / 2)


def _place(
    observed: Observed, found: Levels, writes: np.ndarray
) -> tuple[str, np.ndarray, tuple[str, ...], str]:
    """What takes longer in slow steps, on which columns and hosts, and that in words."""
    everyone = np.arange(len(observed.ranks))
    slow, fast = (_rows(observed, chosen) for chosen in (found.slow, ~found.slow & ~writes))
    if not len(slow) or not len(fast):
        return "step_time_s", everyone, (), ""
    longer_s = (found.slow_s - found.fast_s) * np.median(observed.steps_in_row)
    for field in WHERE:
        table = np.nan_to_num(observed.of(field).astype(float))
        typical = np.median(table[fast], axis=0)
        is_slow = np.zeros(table.shape, bool)
        is_slow[slow] = table[slow] - typical >= HALF * longer_s
        if is_slow[slow].any(axis=1).mean() >= HALF:
            break
    else:
        return "step_time_s", everyone, (), ""
    columns, where = _ranks(observed, is_slow[slow].mean(axis=0))
    if not WHERE[field] and len(columns) == len(everyone):
        return field, columns, (), ""
    hosts, of_hosts = _hosts(observed, is_slow, columns)
    return (
        field,
        columns,
        hosts,
        f". They take longer{(WHERE[field] + (of_hosts or where)).removeprefix(',')}",
    )


def _ranks(observed: Observed, share: np.ndarray) -> tuple[np.ndarray, str]:
    """The columns that are slow in the slow steps, in words. share : of the slow steps, by column."""
    columns = np.flatnonzero(share >= HALF * share.max())
    if len(columns) == len(observed.ranks):
        return columns, ", on all ranks" if len(columns) > 1 else ""
    if len(columns) > HALF * len(observed.ranks):
        return np.arange(len(observed.ranks)), ", on changing ranks"
    return columns, f", on {in_ranks(observed.ranks[columns])}"


def _hosts(observed: Observed, is_slow: np.ndarray, columns: np.ndarray) -> tuple[tuple[str, ...], str]:
    """Hosts on which the slow ranks are, and the part of the machine in words if they cluster there beyond
    chance; "" if not."""
    placement = observed.placement
    if placement is None:
        return (), ""
    from perfield.studies.regimes.model import REGIME, timings, where  # brings xarray

    hosts = hosts_of(placement, observed.ranks[columns]) if len(columns) < len(observed.ranks) else ()
    times = timings(1.0 + is_slow.T, observed.ranks).assign(
        {REGIME: (("rank", "step"), is_slow.T.astype(np.int8))}
    )
    clusters = [cluster for cluster in where(times, placement) if cluster.is_cluster and cluster.places]
    return (hosts, f", on {clusters[0].named}") if clusters else (hosts, "")
