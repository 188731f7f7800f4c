# SPDX-License-Identifier: BSD-3-Clause
"""Messages without bytes, which could be spared (thesis, Figures 7.6 and 7.21)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings import late_rank
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.late_rank import LateRank
from perfield.analysis.findings.message_costs import COST_FIELDS, cost_s
from perfield.analysis.observed import Observed
from perfield.analysis.pair_keys import pair_keys
from perfield.text import in_number, part_of

QUESTION = "Do messages carry no bytes?"
KINDS = ("empty messages",)
NEEDS = ("sent_count",)
LIKES = (*COST_FIELDS, *late_rank.NEEDS, *late_rank.LIKES)
MANY = 0.1  # of the messages are empty, at least, if their calls cost little
MOST_PAIRS = 1000  # that the finding names


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if a tenth of all messages, and one in each step, are empty, or if they cost 1 %.

    They also cost what others wait for a rank, most of whose messages they are.
    """
    rows = observed.messages
    n_empty, n_all = float(observed.empty.sum()), float(observed.totals["sent_count"].sum())
    if n_empty < max(observed.n_steps, 1) or n_all <= 0:
        return
    saved_s = cost_s(observed, rows["source"], rows["target"], rows["empty"])
    late = late_rank_of(observed)
    if late:
        saved_s = max(saved_s or 0.0, late.each_s)
    if n_empty < MANY * n_all and (saved_s or 0.0) < WORTH_REPORTING * observed.elapsed_s:
        return
    known = observed.known_messages[observed.known_messages["empty"] > 0]
    steps = observed.index[observed.empty > 0]
    some = len(steps) < observed.n_steps
    n_steps = len(steps) if some else observed.n_program_steps
    per = " per step" if observed.n_program_steps > 1 else ""
    where = f" in each of {in_number(n_steps)} steps" if some else per
    words = f"{in_number(n_empty / n_steps)} messages{where} carry no bytes, {part_of(n_empty / n_all)} them."
    worst = known[np.lexsort((known["bytes"], -known["empty"].astype(float)))[:MOST_PAIRS]]
    if len(worst):
        words += f" They go {_in_words(observed, known)}.{_how_many(known, n_steps, per)}"
    if late:
        words += f" {late.words}, most of whose messages are empty."
    yield Finding(
        kind="empty messages",
        words=words,
        saved_s=saved_s,
        remedy="Skip empty messages on both sides: when the mesh changes, let each rank know once from whom "
        "data will come, as MPI_Dist_graph_create_adjacent with MPI_Neighbor_alltoallv does.",
        picture=Picture("machine", "sent_count", int(observed.index[observed.empty.argmax()])),
        ranks=np.unique(worst["source"]).astype(np.int64),
        steps=steps if some else steps[:0],
        pairs=np.stack([worst["source"], worst["target"]], axis=1).astype(np.int64),
    )


def late_rank_of(observed: Observed) -> LateRank | None:
    """The rank that others wait for, if it mostly sends and receives empty messages, one in each step."""
    rows = observed.messages
    if not observed.has("sent_count") or float(observed.empty.sum()) < max(observed.n_steps, 1):
        return None
    return late_rank.made_late_by(observed, rows, rows["empty"].astype(float))


def _in_words(observed: Observed, known: np.ndarray) -> str:
    """Pairs of ranks, how many of them send nothing else, and how many do not touch on the mesh."""
    if len(known) == 1:
        alone = ", which gets no other message from it" if known["bytes"][0] == 0 else ""
        return f"from rank {known['source'][0]} to rank {known['target'][0]}{alone}"
    n_sources, n_targets = (len(np.unique(known[end])) for end in ("source", "target"))
    words = f"between {in_number(len(known))} pairs of ranks"
    if n_sources == 1:
        words = f"from rank {known['source'][0]} to {in_number(n_targets)} ranks"
    elif n_targets == 1:
        words = f"from {in_number(n_sources)} ranks to rank {known['target'][0]}"
    said = []
    if (known["bytes"] == 0).any():
        said.append(f"{in_number((known['bytes'] == 0).sum())} of them without any other message")
    if observed.neighbours is not None and len(observed.neighbours):
        source, target = observed.neighbours.T
        touch = np.isin(pair_keys(known["source"], known["target"]), pair_keys(source, target))
        touch |= known["source"] == known["target"]
        if not touch.all():
            said.append(f"{in_number((~touch).sum())} between ranks that do not touch on the mesh")
    return f"{words}, {' and '.join(said)}" if said else words


def _how_many(known: np.ndarray, n_steps: int, per: str) -> str:
    """How many messages the pairs send, if there are several."""
    if len(known) == 1:
        return ""
    worst = known[known["empty"].argmax()]
    each = f"{in_number(worst['empty'] / n_steps)}{per}"
    if known["empty"].min() == worst["empty"]:
        return f" Each pair has {each}."
    return f" Most go from rank {worst['source']} to rank {worst['target']}: {each}."
