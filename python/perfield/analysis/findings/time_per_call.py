# SPDX-License-Identifier: BSD-3-Clause
"""Regions that run many times in each step, and take longer on ranks where they run no more often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfield.analysis.chance import Differences, differences
from perfield.analysis.explanation import explanation
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.sight import Sight, of_ranks
from perfield.analysis.imbalance import CAUSES, FIELDS, OF_REGIONS, compute_time_in
from perfield.analysis.observed import Observed
from perfield.text import in_list, in_number, in_ranks, in_seconds, start

QUESTION = "Does a region take longer on some ranks without running more often there?"
KINDS = ("time that counts do not explain",)
NEEDS = ("<region>_time_s", "<region>_count", "steps")
LIKES = (*FIELDS, *OF_REGIONS)
CALLS = 2  # per step: a region that runs once has nothing to count
LONGER = 1.1  # of the time per call of the slowest ranks, over the mean of all


class _Region(NamedTuple):
    """A region with longer calls. calls, time : float64 (n_columns,), of all steps."""

    stem: str
    found: Differences
    calls: np.ndarray
    time: np.ndarray


def find(observed: Observed) -> Iterator[Finding]:
    """Yields one finding, about the region with most to save; it names the others, too."""
    found = sorted(_regions(observed), key=lambda region: -region.found.saved)
    if not found:
        return
    first = found[0]
    names = tuple(observed.regions[region.stem] for region in found)
    slowest = np.array(first.found.most, np.int64)
    own, mean = first.time[slowest].sum() / first.calls[slowest].sum(), first.time.sum() / first.calls.sum()
    often = [
        in_number(calls / observed.n_steps) for calls in (first.calls[slowest].mean(), first.calls.mean())
    ]
    likewise = f" The same is true of {in_list(names[1:])}." if names[1:] else ""
    # Where an imbalance is reported, this only says more about it.
    is_reported = differences(observed.of("compute_time_s")).pattern == "fixed"
    ranks = observed.ranks[slowest]
    who = f"{start(in_ranks(ranks))} {'takes' if len(ranks) == 1 else 'take'}"
    yield Finding(
        kind="time that counts do not explain",
        words=f"{who} {own / mean:.3g} times as long as the mean for each call of {names[0]} "
        f"({in_seconds(own)}, the mean is {in_seconds(mean)}). How often it runs does not explain that: "
        f"{often[0]} times in a step there, and {often[1]} times in the mean.{likewise}",
        saved_s=None if is_reported else first.found.saved,
        remedy="Look at what a call does on these ranks: boundary conditions, branches, slow functions such "
        "as pow(), cache misses; dividing the mesh into equal parts would not help.",
        picture=_picture(observed, first.stem),
        ranks=ranks,
        regions=names,
        chance=first.found.chance,
    )


def sees(observed: Observed) -> Sight:
    """How much longer a rank would have to be in the region whose times scatter most."""
    stems = [
        stem
        for stem, counts in observed.of_regions("<region>_count").items()
        if np.nansum(counts, dtype=float) >= CALLS * observed.n_steps * len(observed.ranks)
    ]
    if not stems:
        return Sight(f"No region is entered {CALLS} times or more in each step.", False)
    tables = [compute_time_in(observed, stem) for stem in stems]
    worst = max(tables, key=lambda table: differences(table).visible)
    return of_ranks(observed, worst, "computes in a region")


def _picture(observed: Observed, stem: str) -> Picture:
    """The mesh, or the region's time: its time per call has not been read."""
    if observed.has("cells"):
        return Picture("mesh", f"{stem}_time_per_call_s")
    return Picture("heat_map", f"{stem}_time_s")


def _regions(observed: Observed) -> Iterator[_Region]:
    causes = {name: observed.tables.get(name) for name in CAUSES}
    for stem, counts in observed.of_regions("<region>_count").items():
        counts = np.nan_to_num(counts.astype(float))
        calls, time = counts.sum(axis=0), compute_time_in(observed, stem)
        if not (calls > 0).all() or calls.mean() < CALLS * observed.n_steps:
            continue
        found = differences(time)
        if found.pattern != "fixed" or found.saved < WORTH_REPORTING * observed.elapsed_s:
            continue
        if explanation(time, found, {"count": counts, **causes}).cause:
            continue
        per_rank, slowest = time.sum(axis=0), list(found.most)
        if per_rank[slowest].sum() * calls.sum() >= LONGER * per_rank.sum() * calls[slowest].sum():
            yield _Region(stem, found, calls, per_rank)
