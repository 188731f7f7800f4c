# SPDX-License-Identifier: BSD-3-Clause
"""Many messages of few bytes, which cost more together than one with all their bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings import late_rank
from perfield.analysis.findings.bursts import messages_in_bursts
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.late_rank import LateRank
from perfield.analysis.findings.message_costs import COST_FIELDS, cost_s, per_step
from perfield.analysis.observed import Observed
from perfield.text import in_bytes, in_number

QUESTION = "Do ranks send many tiny messages?"
KINDS = ("tiny messages",)
NEEDS = ("sent_count", "mpi_p2p_time_s", "steps")
LIKES = (*COST_FIELDS, *late_rank.NEEDS, *late_rank.LIKES)
TINY = 512.0  # bytes of a message on average, where single ones are not known: `small` counts those below
MANY = 20  # per step from a rank to another, at least
MOST_PAIRS = 1000  # that the finding names


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if all but one such message of a pair and step cost 1 % of the time.

    They also cost what others wait for a rank, most of whose messages they are. Empty messages are another
    finding, and so are those in bursts.
    """
    rows, count = _tiny(observed)
    if not len(rows):
        return
    saved_s = cost_s(observed, rows["source"], rows["target"], count - observed.n_program_steps)
    late = late_rank_of(observed)
    if late:
        saved_s = max(saved_s or 0.0, late.each_s)
    if saved_s is None or saved_s < WORTH_REPORTING * observed.elapsed_s:
        return
    order = np.argsort(-count, kind="stable")[:MOST_PAIRS]
    first, most = rows[order[0]], count[order[0]]
    ends = f"rank {first['source']} to rank {first['target']}"
    words = per_step(observed, count.sum())
    if (rows["count"] - rows["empty"] > count).any():
        words += ", of less than 512 B each, in addition to larger ones"
    else:
        words += f", of {in_bytes(rows['bytes'].sum() / count.sum())} on average"
    if len(rows) == 1:
        words = f"Many tiny messages go from {ends}: {words}."
    else:
        words = (
            f"{in_number(len(rows))} pairs of ranks exchange many tiny messages: {words}; most go from "
            f"{ends}: {per_step(observed, most)}."
        )
    if late:
        words += f" {late.words}, most of whose messages are tiny."
    yield Finding(
        kind="tiny messages",
        words=words,
        saved_s=saved_s,
        remedy="Join what goes to the same rank into one message (a buffer, MPI_Pack or a derived datatype); "
        "where each must wait for the one before, give fewer ranks larger pieces.",
        picture=Picture("machine", "sent_count"),
        ranks=np.unique(rows["source"][order]).astype(np.int64),
        pairs=np.stack([rows["source"][order], rows["target"][order]], axis=1).astype(np.int64),
    )


def late_rank_of(observed: Observed) -> LateRank | None:
    """The rank that others wait for, if it mostly sends and receives tiny messages."""
    if not all(map(observed.has, NEEDS)):
        return None
    rows, count = _tiny(observed)
    return late_rank.made_late_by(observed, rows, count) if len(rows) else None


def _tiny(observed: Observed) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that exchange many tiny messages, rows of observed.messages, and how many; none in bursts."""
    rows = observed.known_messages
    rows = rows[rows["source"] != rows["target"]]
    count = rows["count"].astype(float) - rows["empty"]
    small = rows["small"].astype(float) - rows["empty"]
    count = np.where(small > 0, small, np.where(rows["bytes"] <= TINY * count, count, 0.0))
    many = (count >= MANY * observed.n_program_steps) & (count > 0)
    rows, count = rows[many], count[many]
    if 2 * messages_in_bursts(observed) > count.sum():
        return rows[:0], count[:0]
    return rows, count
