# SPDX-License-Identifier: BSD-3-Clause
"""Regions that run many times in each step, and take longer on ranks where they run no more often."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.chance import differences
from perfield.analysis.explanation import explanation
from perfield.analysis.findings.finding import WORTH_TELLING, Finding, Picture
from perfield.analysis.imbalance import CAUSES, OF_REGIONS, compute_time_in
from perfield.analysis.observed import Observed
from perfield.analysis.words import in_number, in_ranks, in_seconds, start

QUESTION = "Does a region take longer on some ranks without running more often there?"
KINDS = ("time that counts do not explain",)
NEEDS = ("<region>_time_s", "<region>_count")
LIKES = ("compute_time_s", *CAUSES, *OF_REGIONS)
CALLS = 2  # per step: a region that runs once has nothing to count
LONGER = 1.1  # of the time per call of dear ranks, over the mean of all


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the regions whose dear ranks take longer for each call, one finding for each."""
    compute = observed.of("compute_time_s").astype(float)
    is_told = differences(compute).pattern == "fixed"  # as an imbalance; this only says more about it
    causes = {name: observed.tables.get(name) for name in CAUSES}
    for stem, counts in observed.of_regions("<region>_count").items():
        counts = np.nan_to_num(counts.astype(float))
        calls, time = counts.sum(axis=0), compute_time_in(observed, stem)
        if not (calls > 0).all() or calls.mean() < CALLS * observed.n_steps:
            continue
        found = differences(time)
        if found.pattern != "fixed" or found.saved < WORTH_TELLING * observed.elapsed_s:
            continue
        if explanation(time, found, {"count": counts, **causes}).cause:
            continue
        dear = np.array(found.most, np.int64)
        own, mean = time.sum(axis=0)[dear].sum() / calls[dear].sum(), time.sum() / calls.sum()
        if own < LONGER * mean:
            continue
        times = (
            f"{in_number(count / observed.n_steps)} times" for count in (calls[dear].mean(), calls.mean())
        )
        ranks = observed.ranks[dear]
        who = f"{start(in_ranks(ranks))} {'takes' if len(ranks) == 1 else 'take'}"
        region = observed.regions[stem]
        yield Finding(
            kind="time that counts do not explain",
            words=f"{who} {own / mean:.3g} times as long as the mean for each call of {region} "
            f"({in_seconds(own)}, the mean is {in_seconds(mean)}). How often it runs does not explain that: "
            f"{next(times)} in a step there, and {next(times)} in the mean.",
            saved_s=None if is_told else found.saved,
            remedy="Look at what a call does on these ranks: boundary conditions, branches, slow functions "
            "such as pow(), cache misses; dividing the mesh into equal parts would not help.",
            picture=Picture("mesh" if observed.has("cells") else "heat_map", f"{stem}_time_per_call_s"),
            ranks=ranks,
            regions=(region,),
            chance=found.chance,
        )
