# SPDX-License-Identifier: BSD-3-Clause
"""The rank on which others' waiting begins, by the stamps of both ends of their messages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.chance import differences
from perfield.analysis.explanation import rank_waited_for
from perfield.analysis.findings import empty_messages, late_rank, tiny_messages
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.imbalance import proof
from perfield.analysis.findings.sight import Sight
from perfield.analysis.imbalance import rank_without_work_alone
from perfield.analysis.observed import Observed, once
from perfield.analysis.waits.states import KINDS as WAIT_KINDS
from perfield.analysis.waits.sums import WaitSums
from perfield.analysis.waits.words import KIND_WORDS, region_of
from perfield.text import counted, in_percent, in_seconds

QUESTION = "Does the waiting of the others begin on a rank that computes no longer than they do?"
KINDS = ("late rank",)
ANSWERED_BY = ("messages to one rank",)
NEEDS = ("wait_states",)
LIKES = late_rank.LIKES

REMEDIES = {
    "late_sender": "Look at what this rank does before it sends, and post its sends earlier.",
    "late_receiver": "Post the receives of this rank earlier (MPI_Irecv before computing), or let the others "
    "send without blocking.",
    "late_one_sided": "Look at what this rank does before it closes its epoch; lock or post earlier.",
}
OF_COLLECTIVES = (
    "Look at what this rank does before the collective operation; if nobody needs the result at once, a "
    "non-blocking operation hides the waiting."
)


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the rank, unless an imbalance, its files or needless messages explain it: these are reported."""
    rank = late(observed)
    if rank is None or empty_messages.late_rank_of(observed) or tiny_messages.late_rank_of(observed):
        return
    sums = observed.waiting
    of_rank = sums.sure()[sums.sure()["cause"] == rank]
    longest = of_rank[of_rank["time_s"].argmax()]
    kind = WAIT_KINDS[longest["kind"]]
    waiting = np.unique(of_rank["rank"])
    others = f", and so do {counted(len(waiting) - 1, 'more rank')}" if len(waiting) > 1 else ""
    share = sums.caused_s[rank] / sums.mpi_s
    yield Finding(
        kind="late rank",
        words=f"Rank {rank} costs the others {in_seconds(sums.caused_s[rank])} of waiting, "
        f"{in_percent(share)} of all time in MPI{region_of(sums, rank)}, although it "
        f"{late_rank.how_long_it_computes(observed, rank)}. "
        f"Rank {longest['rank']} waits {in_seconds(longest['time_s'])} for it ({KIND_WORDS[kind]}, in "
        f"{counted(int(longest['steps']), 'step')}){others}.",
        saved_s=saved_s(sums, rank),
        remedy=REMEDIES.get(kind, OF_COLLECTIVES),
        picture=Picture("heat_map", "waiting_time_s"),
        ranks=np.array([rank], np.int64),
        pairs=np.array([[rank, int(one)] for one in waiting], np.int64),
        **proof(differences(sums.caused_of)),
    )


def sees(observed: Observed) -> Sight:
    """How much longer others would have to wait for a rank."""
    return late_rank.sight(observed, observed.waiting.caused_of)


def lacks(observed: Observed) -> tuple[str, ...]:
    """What keeps the answer from being no, where nothing is found."""
    return () if is_explained(observed) else ("explanations",)


def is_explained(observed: Observed) -> bool:
    """Whether enough of the time in MPI is explained to say on whom waiting begins."""
    return observed.has("wait_states") and observed.waiting.names_causes


@once
def late(observed: Observed) -> int | None:
    """The rank on which waiting begins beyond chance; None where nobody stands out, too little is explained,
    or an imbalance or files explain the rank."""
    if not is_explained(observed):
        return None
    sums = observed.waiting
    idle = rank_without_work_alone(observed)  # a master waits for workers as they wait for it
    rank = rank_waited_for(np.nan_to_num(sums.caused_of), float(np.nansum(sums.caused_s)), sums.mpi_s)
    if rank is None or not (sums.sure()["cause"] == rank).any():
        return None
    cost_s = saved_s(sums, rank)
    if cost_s < WORTH_REPORTING * observed.elapsed_s:
        return None
    columns = np.flatnonzero(observed.ranks == rank)
    if idle is not None and longest_wait_for(sums, rank) == observed.ranks[idle]:
        return None
    passed_on_s = sums.sure()["time_s"][sums.sure()["rank"] == rank].sum()  # what it waits for itself
    if passed_on_s >= _waits_of(sums, rank).mean() / 2:
        return None
    for column in columns.tolist():
        if late_rank.is_late_for_a_pu(observed, column, cost_s):
            return None
        if late_rank.is_late_by_computing(observed, column, cost_s):
            return None
    files = float(np.nansum(observed.of("io_time_s")[:, columns], dtype=float))
    return None if files >= late_rank.MOSTLY * cost_s else int(rank)


def longest_wait_for(sums: WaitSums, rank: int) -> int:
    """The rank that waits longest for another."""
    of_rank = sums.sure()[sums.sure()["cause"] == rank]
    return int(of_rank["rank"][of_rank["time_s"].argmax()])


def saved_s(sums: WaitSums, rank: int) -> float:
    """How much shorter the steps would be without the lateness of a rank, at most: as long as the rank that
    waits longest for it does, and at least what all others wait on average."""
    waits_s = _waits_of(sums, rank)
    return float(max(waits_s.max(initial=0.0), sums.caused_s[rank] / max(1, sums.n_ranks - 1)))


def _waits_of(sums: WaitSums, rank: int) -> np.ndarray:
    """How long each rank that waits for another does, s."""
    of_rank = sums.sure()[sums.sure()["cause"] == rank]
    waits_s = np.bincount(of_rank["rank"], of_rank["time_s"], minlength=sums.n_ranks)
    return waits_s[waits_s > 0]
