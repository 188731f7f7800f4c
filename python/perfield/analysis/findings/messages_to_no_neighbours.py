# SPDX-License-Identifier: BSD-3-Clause
"""Few ranks that exchange messages with far more ranks than their pieces touch (thesis, Figure 7.5).

Periodic boundaries, which the mesh does not show, give a rank at a boundary no more partners than one inside
the mesh has. Transforms, multigrid and butterflies give most ranks far partners. Neither is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.bursts import messages_in_bursts
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.message_costs import COST_FIELDS, cost_s, per_step
from perfield.analysis.observed import Observed
from perfield.analysis.pair_keys import pair_keys
from perfield.text import in_bytes, in_number, in_percent, in_ranks, start

QUESTION = "Do ranks exchange messages with ranks that they do not touch on the mesh?"
KINDS = ("messages to no neighbours",)
NEEDS = ("sent_count", "neighbours")
LIKES = COST_FIELDS
FAR_MORE = 1.5  # times as many partners as the rank with most neighbours on the mesh has neighbours
FEW = 0.25  # of the ranks with a mesh
MANY = 0.1  # of the messages, at least, if their calls cost little
MOST_PAIRS = 1000  # that the finding names


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if few such ranks have a tenth of all messages with ranks that they do not touch.

    In a reduction by messages along a tree, as mpi4py's of Python objects, each rank has up to log2(n_ranks)
    partners. That many are not reported. Messages without bytes, and in bursts, are other findings. Ranks
    that touch no other piece are left out.
    """
    touching = observed.neighbours[observed.neighbours[:, 0] != observed.neighbours[:, 1]]
    n_neighbours = np.bincount(touching[:, 0], minlength=observed.n_ranks)
    n_steps = observed.n_program_steps
    rows = observed.known_messages
    rows = rows[rows["source"] != rows["target"]]
    rows = rows[(n_neighbours[rows["source"]] > 0) & (n_neighbours[rows["target"]] > 0)]
    count = rows["count"].astype(float) - rows["empty"]
    far = ~np.isin(pair_keys(rows["source"], rows["target"]), pair_keys(touching[:, 0], touching[:, 1]))
    rows, count = rows[far & (count > 0)], count[far & (count > 0)]
    both = np.unique(np.concatenate([pair_keys(*ends) for ends in _both_ways(rows)]))
    n_partners = n_neighbours + np.bincount(both >> 32, minlength=observed.n_ranks)
    far_more = n_partners > FAR_MORE * n_neighbours.max(initial=0)
    talkative = np.flatnonzero(far_more & (n_partners - n_neighbours > np.log2(observed.n_ranks)))
    if not 0 < len(talkative) <= FEW * (n_neighbours > 0).sum():
        return
    theirs = np.isin(rows["source"], talkative) | np.isin(rows["target"], talkative)
    rows, count = rows[theirs], count[theirs]
    n_all = float(observed.totals["sent_count"].sum())
    saved_s = cost_s(observed, rows["source"], rows["target"], count)
    if count.sum() < MANY * n_all and (saved_s or 0.0) < WORTH_REPORTING * observed.elapsed_s:
        return
    if count.sum() < n_steps or 2 * messages_in_bursts(observed) > count.sum():
        return
    order = np.argsort(-count, kind="stable")[:MOST_PAIRS]
    n_far = (n_partners - n_neighbours)[talkative]
    yield Finding(
        kind="messages to no neighbours",
        words=f"{start(in_ranks(talkative))} exchange{'s' if len(talkative) == 1 else ''} messages "
        f"with {in_number(n_far.max())} ranks whose pieces of the mesh do not touch: "
        f"{per_step(observed, count.sum())} with {in_bytes(rows['bytes'].sum() / n_steps)}, "
        f"{in_percent(count.sum() / n_all)} of all messages. No piece touches more than "
        f"{in_number(n_neighbours.max())} others, so periodic boundaries do not explain that.",
        saved_s=saved_s,
        remedy="If these messages collect or spread data, call a collective (MPI_Gatherv, MPI_Bcast, "
        "MPI_Allreduce); if they should follow the mesh, correct the lists of neighbours.",
        picture=Picture("machine", "sent_count"),
        ranks=talkative.astype(np.int64),
        pairs=np.stack([rows["source"][order], rows["target"][order]], axis=1).astype(np.int64),
    )


def _both_ways(rows: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    return (rows["source"], rows["target"]), (rows["target"], rows["source"])
