# SPDX-License-Identifier: BSD-3-Clause
"""Many messages of few bytes, which cost more together than one with all their bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.bursts import messages_in_bursts
from perfield.analysis.findings.finding import WORTH_TELLING, Finding, Picture
from perfield.analysis.findings.message_costs import COST_FIELDS, cost_s, per_step
from perfield.analysis.observed import Observed
from perfield.analysis.words import in_bytes, in_number

QUESTION = "Which ranks send many tiny messages?"
KINDS = ("tiny messages",)
NEEDS = ("sent_count", "mpi_p2p_time_s", "steps")
LIKES = COST_FIELDS
TINY = 512.0  # bytes of a message on average, at most; such a message costs its call, not its bytes
MANY = 20  # per step from a rank to another, at least
MOST_PAIRS = 1000  # that the finding names


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if all but one such message of a pair and step cost 1 % of the time.

    Empty messages are another finding, and so are those in bursts.
    """
    told = observed.known_messages
    told = told[told["source"] != told["target"]]
    count = told["count"].astype(float) - told["empty"]
    n_steps = observed.n_program_steps
    many = (count >= MANY * n_steps) & (told["bytes"] <= TINY * count) & (count > 0)
    told, count = told[many], count[many]
    if not len(told) or 2 * messages_in_bursts(observed) > count.sum():
        return
    saved_s = cost_s(observed, told["source"], told["target"], count - n_steps)
    if saved_s is None or saved_s < WORTH_TELLING * observed.elapsed_s:
        return
    order = np.argsort(-count, kind="stable")[:MOST_PAIRS]
    first, most = told[order[0]], count[order[0]]
    ends = f"rank {first['source']} to rank {first['target']}"
    words = f"{per_step(observed, count.sum())}, of {in_bytes(told['bytes'].sum() / count.sum())} on average"
    if len(told) == 1:
        words = f"Many tiny messages go from {ends}: {words}."
    else:
        words = (
            f"{in_number(len(told))} pairs of ranks exchange many tiny messages: {words}; most go from "
            f"{ends}: {per_step(observed, most)}."
        )
    yield Finding(
        kind="tiny messages",
        words=words,
        saved_s=saved_s,
        remedy="Join what goes to the same rank into one message (a buffer, MPI_Pack or a derived datatype); "
        "where each must wait for the one before, give fewer ranks larger pieces.",
        picture=Picture("machine", "sent_count"),
        ranks=np.unique(told["source"][order]).astype(np.int64),
        pairs=np.stack([told["source"][order], told["target"][order]], axis=1).astype(np.int64),
    )
