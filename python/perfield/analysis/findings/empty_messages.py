# SPDX-License-Identifier: BSD-3-Clause
"""Messages without bytes, which could be spared (thesis, Figures 7.6 and 7.21)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.finding import WORTH_TELLING, Finding, Picture
from perfield.analysis.findings.message_costs import COST_FIELDS, cost_s
from perfield.analysis.observed import Observed
from perfield.analysis.words import in_number, in_percent

QUESTION = "Which messages carry no bytes?"
NEEDS = ("sent_count",)
LIKES = COST_FIELDS
MANY = 0.1  # of the messages are empty, at least, if their calls cost little
MOST_PAIRS = 1000  # that the finding names


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if a tenth of all messages, and one in each step, are empty, or if they cost 1 %."""
    told = observed.messages
    n_empty, n_all = float(observed.empty.sum()), float(observed.totals["sent_count"].sum())
    if n_empty < max(observed.n_steps, 1) or n_all <= 0:
        return
    saved_s = cost_s(observed, told["source"], told["target"], told["empty"])
    if n_empty < MANY * n_all and (saved_s or 0.0) < WORTH_TELLING * observed.elapsed_s:
        return
    known = told[(told["source"] >= 0) & (told["target"] >= 0) & (told["empty"] > 0)]
    steps = observed.index[observed.empty > 0]
    some = len(steps) < observed.n_steps
    n_steps = len(steps) if some else observed.n_program_steps
    where = f"in each of {in_number(n_steps)} steps" if some else "per step"
    share = in_percent(n_empty / n_all)
    words = f"{in_number(n_empty / n_steps)} messages {where} carry no bytes, {share} of all."
    worst = known[np.lexsort((known["bytes"], -known["empty"].astype(float)))[:MOST_PAIRS]]
    if len(worst):
        first = worst[0]
        never = int((known["bytes"] == 0).sum())
        none = "no byte ever flows there" if len(known) == 1 else f"no byte ever flows in {in_number(never)}"
        words += (
            f" They go between {_pairs(len(known))}{f'; {none}' if never else ''}. Most go from rank "
            f"{first['source']} to rank {first['target']}: {in_number(first['empty'] / n_steps)} per step."
        )
    yield Finding(
        kind="empty messages",
        words=words,
        saved_s=saved_s,
        remedy="Skip empty messages on both sides: when the mesh changes, tell each rank once from whom data "
        "will come, as MPI_Dist_graph_create_adjacent with MPI_Neighbor_alltoallv does.",
        picture=Picture("machine", "sent_count", int(observed.index[observed.empty.argmax()])),
        ranks=np.unique(worst["source"]).astype(np.int64),
        steps=steps if some else steps[:0],
        pairs=np.stack([worst["source"], worst["target"]], axis=1).astype(np.int64),
    )


def _pairs(n: int) -> str:
    return "one pair of ranks" if n == 1 else f"{in_number(n)} pairs of ranks"
