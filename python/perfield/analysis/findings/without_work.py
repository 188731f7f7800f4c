# SPDX-License-Identifier: BSD-3-Clause
"""One rank that computes next to nothing: it hands out work, or was given none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.chance import differences
from perfield.analysis.explanation import rank_without_work
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.sight import Sight
from perfield.analysis.imbalance import rank_without_work_alone
from perfield.analysis.observed import Observed
from perfield.text import in_number, in_percent, part_of

QUESTION = "Does one rank compute nothing?"
KINDS = ("master rank", "rank without work")
NEEDS = ("compute_time_s",)
LIKES = ("sent_count",)
NEARLY_ALL = 0.9  # of the messages: where one rank sends or receives them, it hands out work


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the one rank that computes a tenth of the others' median at most, if they differ by chance
    only. Where they do not, the imbalance is reported."""
    idle = rank_without_work_alone(observed)
    if idle is None:
        return
    compute = np.nan_to_num(observed.of("compute_time_s").astype(float))
    others = differences(np.delete(compute, idle, axis=1))
    of_rank = compute.sum(axis=0)
    mean_s = float(np.delete(of_rank, idle).mean())
    saved_s = mean_s / len(of_rank)
    if saved_s < WORTH_REPORTING * observed.elapsed_s:
        return
    rank = int(observed.ranks[idle])
    longest = "the longest of each step" if len(compute) > 1 else "the longest"
    words = (
        f"Rank {rank} computes {in_percent(of_rank[idle] / mean_s)} of what the others do on average. No "
        f"other rank stands out: {longest} computes {others.ratio:.3g} times as long as the mean of the "
        "others."
    )
    picture, ranks = Picture("heat_map", "compute_time_s"), np.array([rank], np.int64)
    rows = observed.known_messages
    count = rows["count"].astype(float)
    its_own = (rows["source"] == rank) | (rows["target"] == rank)
    if count.sum() > 0 and count[its_own].sum() >= NEARLY_ALL * count.sum():
        yield Finding(
            kind="master rank",
            words=f"{words} It sends or receives {part_of(count[its_own].sum() / count.sum())} the "
            f"{in_number(count.sum())} messages: it hands out work.",
            saved_s=None,
            remedy="Nothing, if that is its purpose: no rank has too much work. If it is idle for long, "
            "start one more rank than there are cores, or let it compute, too.",
            picture=picture,
            ranks=ranks,
        )
        return
    yield Finding(
        kind="rank without work",
        words=words,
        saved_s=saved_s,
        remedy="Give this rank a part of the work, or start the program with one rank less.",
        picture=picture,
        ranks=ranks,
    )


def sees(observed: Observed) -> Sight:
    """A rank without work is so whatever chance does."""
    if len(observed.ranks) < 3:
        return Sight("Of two ranks, one that computes less is an imbalance.")
    compute = np.nan_to_num(observed.of("compute_time_s").astype(float))
    of_rank = compute.sum(axis=0)
    median = float(np.median(np.delete(of_rank, of_rank.argmin())))
    share = of_rank.min() / median if median > 0 else 1.0
    if rank_without_work(compute) is None:
        return Sight(f"The rank that computes least has {in_percent(share)} of the others' median.")
    idle = f"Rank {observed.ranks[of_rank.argmin()]} computes {in_percent(share)} of the others' median"
    return Sight(f"{idle}, but the others differ by more than chance, too: that is an imbalance.", False)
