# SPDX-License-Identifier: BSD-3-Clause
"""All ranks send to one, which takes their messages one after the other: a gather by point-to-point."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings import late_rank, wait_causes
from perfield.analysis.findings.finding import LATE, WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.late_rank import MOST, longer_than_others_s
from perfield.analysis.observed import Observed
from perfield.analysis.waits.states import KINDS as WAIT_KINDS
from perfield.text import in_seconds

QUESTION = "Do all ranks send to one that takes their messages one after the other?"
KINDS = ("messages to one rank",)
EXPLAINS = {"messages to one rank": frozenset(LATE)}
NEEDS = ("messages", "wait_states")
LIKES = (*late_rank.LIKES, "io_time_s")
NEARLY_ALL = 0.9  # of the other ranks send to it
MOST_WAIT = 0.5  # of these wait for it in sends; of all such waiting, at least
FEWEST = 2  # senders

LATE_RECEIVER = WAIT_KINDS.index("late_receiver")


def lacks(observed: Observed) -> tuple[str, ...]:
    """What keeps the answer from being no, where nothing is found."""
    return wait_causes.lacks(observed)


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the rank, unless it receives late since it computes, waits for a PU or uses files longer than
    the others, or since it waits itself: these are reported."""
    sums, n_others = observed.waiting, observed.n_ranks - 1
    sure = sums.sure()
    blocked = sure[(sure["kind"] == LATE_RECEIVER) & (sure["cause"] >= 0) & (sure["rank"] != sure["cause"])]
    if not len(blocked):
        return
    rank = int(np.bincount(blocked["cause"], blocked["time_s"]).argmax())
    arrived = observed.known_messages[observed.known_messages["target"] == rank]
    senders = np.setdiff1d(arrived["source"], [rank])
    of_rank = blocked[blocked["cause"] == rank]
    waits_s = np.bincount(of_rank["rank"], of_rank["time_s"], minlength=observed.n_ranks)
    waiting, time_s = np.flatnonzero(waits_s), float(waits_s.sum())
    if len(senders) < max(FEWEST, NEARLY_ALL * n_others) or len(waiting) < MOST_WAIT * len(senders):
        return
    longest_s = float(waits_s.max())
    if time_s < MOST_WAIT * blocked["time_s"].sum() or longest_s < WORTH_REPORTING * observed.elapsed_s:
        return
    own_s = float(sure["time_s"][sure["rank"] == rank].sum())
    if max(own_s, longer_than_others_s(observed, rank)) >= MOST * longest_s:
        return
    which = "All" if len(senders) == n_others else f"{len(senders):,} of"
    wait = "one waits" if len(waiting) == 1 else f"{len(waiting):,} wait"
    in_all = "" if len(waiting) == 1 else f" in all, rank {waits_s.argmax()} longest: {in_seconds(longest_s)}"
    yield Finding(
        kind="messages to one rank",
        words=f"{which} {n_others:,} other ranks send to rank {rank}, which takes their messages one after "
        f"the other: {wait} in sends until it receives (late receiver), {in_seconds(time_s)}{in_all}.",
        saved_s=longest_s,
        remedy=f"Use MPI_Gather or MPI_Gatherv (MPI_Reduce for sums), or let rank {rank} post all receives "
        "first (MPI_Irecv, then MPI_Waitall); for output, let more ranks receive, or write with MPI-IO.",
        picture=Picture("heat_map", "waiting_time_s"),
        ranks=np.array([rank], np.int64),
        pairs=np.stack([senders, np.full(len(senders), rank)], axis=1).astype(np.int64),
    )
