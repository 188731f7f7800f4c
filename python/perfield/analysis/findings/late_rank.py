# SPDX-License-Identifier: BSD-3-Clause
"""The rank that others wait for, although it computes no longer, and whether its messages explain that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield.analysis.chance import Differences, differences
from perfield.analysis.explanation import rank_waited_for
from perfield.analysis.findings.finding import WORTH_REPORTING
from perfield.analysis.findings.message_costs import of_each_rank
from perfield.analysis.findings.sight import Sight, of_ranks
from perfield.analysis.imbalance import FIELDS, OF_REGIONS, imbalance_to_report, rank_without_work_alone
from perfield.analysis.observed import Observed, once
from perfield.text import in_percent, in_seconds

NEEDS = ("waited_for_time_s", "waiting_time_s")
LIKES = (*FIELDS, *OF_REGIONS, "io_time_s", "run_delay_time_s")
STANDS_OUT = 1.5  # times an even share of all waiting
MOSTLY = 0.6  # of what others wait for it: if it works on files that long, files are the problem
MOST = 0.5  # of the messages that it sends and receives: if more are needless, they make it late; or of its
# lateness: if it waits for a PU that long, who takes the PU is the problem


@dataclass(frozen=True)
class LateRank:
    """A rank that others wait for. each_s : s that one of them waits, on average. found : the test of it.

    words : who waits how long for it, as the begin of a sentence: "7 ranks wait 6.3 s in all for rank 2".
    share : of all waiting, in words.
    """

    rank: int
    each_s: float
    words: str
    share: str
    found: Differences


@once
def late_rank(observed: Observed) -> LateRank | None:
    """The rank, unless an imbalance or its files explain it, or the waiting costs little.

    A rank that waits for others itself, as long as each waits for it, is no cause but a link of a chain.
    """
    if not all(map(observed.has, NEEDS)):
        return None
    waited = np.nan_to_num(observed.of("waited_for_time_s").astype(float))
    named = observed.waits[(observed.waits["peer"] >= 0) & (observed.waits["time_s"] > 0)]
    known, all_waiting = named["time_s"].sum(), np.nansum(observed.of("waiting_time_s"), dtype=float)
    column = rank_waited_for(waited, known, all_waiting)
    if column is None:
        return None
    rank = int(observed.ranks[column])
    own = named[named["peer"] == rank]
    idle = rank_without_work_alone(observed)  # a master waits for workers as they wait for it
    if idle is not None and own["rank"][own["time_s"].argmax()] == observed.ranks[idle]:
        return None
    waits = own["time_s"]
    each_s = float(waits.sum() / max(1, len(waits)))
    files = np.nansum(observed.of("io_time_s")[:, column], dtype=float)
    if is_late_for_a_pu(observed, column, each_s) or is_late_by_computing(observed, column, each_s):
        return None
    if each_s < WORTH_REPORTING * observed.elapsed_s or files >= MOSTLY * each_s:
        return None
    if named[named["rank"] == rank]["time_s"].sum() >= each_s:  # it passes on what it waits for itself
        return None
    wait = "1 rank waits" if len(waits) == 1 else f"{len(waits)} ranks wait"
    in_all = "" if len(waits) == 1 else " in all"
    words = f"{wait} {in_seconds(waits.sum())}{in_all} for rank {rank}"
    share = in_percent(waits.sum() / all_waiting)
    return LateRank(rank, each_s, words, share, differences(waited))


def sight(observed: Observed, waited: np.ndarray) -> Sight:
    """How much longer others would have to wait for one rank. A rank that is named has 1.5 times an even
    share of all waiting (`kStandsOut` in bridge/summary/explanation.cpp).

    waited : how long others waited for each rank, (n, n_columns), s.
    """
    n_ranks = len(observed.ranks)
    share = min(STANDS_OUT / max(n_ranks, 2), 0.99)
    least = share * (n_ranks - 1) / (1 - share) - 1
    return of_ranks(observed, np.nan_to_num(waited), "makes others wait", least)


def is_late_for_a_pu(observed: Observed, column: int, cost_s: float) -> bool:
    """Whether a rank waited for a PU for half of the time that the others wait for it; in MPI, too, where a
    rank without a PU answers late."""
    return bool(np.nansum(observed.ready_s[:, column]) >= MOST * cost_s)


def is_late_by_computing(observed: Observed, column: int, cost_s: float) -> bool:
    """Whether an imbalance names the rank, and it computes longer by half of what the others wait."""
    imbalance = imbalance_to_report(observed, WORTH_REPORTING)
    if imbalance is None or column not in imbalance[0].found.most:
        return False
    return longer_than_others_s(observed, int(observed.ranks[column])) >= MOST * cost_s


def how_long_it_computes(observed: Observed, rank: int) -> str:
    """That a late rank "computes no longer than others", or by how much, where an imbalance names it."""
    imbalance = imbalance_to_report(observed, WORTH_REPORTING)
    column = np.flatnonzero(observed.ranks == rank)
    if imbalance is None or not np.isin(column, imbalance[0].found.most).any():
        return "computes no longer than others"
    return f"computes only {in_seconds(longer_than_others_s(observed, rank))} longer than others"


def longer_than_others_s(observed: Observed, rank: int) -> float:
    """How much longer a rank is outside of MPI, or in files, than the others on average, s: in all steps
    together, or by the median step, where few steps of others hide it."""
    column = np.flatnonzero(observed.ranks == rank)
    if not len(column) or len(observed.ranks) < 2:
        return 0.0
    own_s = observed.outside_calls_s + np.nan_to_num(observed.of("io_time_s").astype(float))
    own_s = np.nan_to_num(own_s)
    longer_s = own_s[:, column[0]] - np.delete(own_s, column[0], axis=1).mean(axis=1)
    return float(max(longer_s.sum(), np.median(longer_s) * len(longer_s), 0.0)) if len(longer_s) else 0.0


def made_late_by(observed: Observed, rows: np.ndarray, needless: np.ndarray) -> LateRank | None:
    """The rank that others wait for, if most messages that it sends and receives are needless.

    rows : of observed.messages. needless : how many messages of each row are.
    """
    many = _with_others(observed, rows, needless) > MOST * _with_others(
        observed, observed.messages, observed.messages["count"]
    )
    late = late_rank(observed) if many.any() else None
    return late if late is not None and many[late.rank] else None


def _with_others(observed: Observed, rows: np.ndarray, count: np.ndarray) -> np.ndarray:
    """How many messages each rank of the world exchanges with others, float64 (n_ranks,)."""
    apart = rows["source"] != rows["target"]
    return of_each_rank(observed, rows["source"][apart], rows["target"][apart], count[apart])
