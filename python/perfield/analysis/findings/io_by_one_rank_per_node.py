# SPDX-License-Identifier: BSD-3-Clause
"""One rank of each node uses files for the others (thesis, Figures 7.35 and 7.36)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.file_costs import (
    FILE_FIELDS,
    MORE_FILE_FIELDS,
    FileUse,
    file_use,
    saved_by_spreading_s,
    when,
)
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.observed import Observed
from perfield.text import in_bytes, in_ranks, part_of

QUESTION = "Does one rank of each node read and write for the others?"
KINDS = ("I/O by one rank per node",)
NEEDS = FILE_FIELDS
LIKES = MORE_FILE_FIELDS
FAR_MORE = 2.0  # times the bytes of the next rank of its node
ALIKE = 4.0  # times as many bytes as another node's rank, at most


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if the same holds on every node, and costs at least 1 % of the time."""
    use = file_use(observed)
    if use is None:
        return
    users = one_per_node(observed, use)
    if not users.any():
        return
    saved_s = saved_by_spreading_s(observed, users)
    if saved_s < WORTH_REPORTING * observed.elapsed_s:
        return
    ranks = observed.ranks[users]
    node_id = observed.placement.node_id
    in_order = np.argsort(node_id[observed.ranks], kind="stable")
    firsts = observed.ranks[in_order[np.unique(node_id[observed.ranks[in_order]], return_index=True)[1]]]
    place = "the first rank" if set(firsts) == set(ranks) else "one rank"
    share = use.amount[users].sum() / use.amount.sum()
    yield Finding(
        kind="I/O by one rank per node",
        words=f"On each of {len(ranks)} nodes {place} {use.verb} far more than the others: {in_ranks(ranks)} "
        f"account for {part_of(share)} {in_bytes(use.amount.sum())}{when(observed, use)}; the others "
        "wait for that.",
        saved_s=saved_s,
        remedy="If the file system can take more, let more ranks of a node use files: with collective MPI-IO "
        "by the hints cb_nodes and cb_config_list, else by one file or part of a file per rank.",
        picture=Picture("machine", use.field),
        ranks=ranks,
        steps=observed.index[use.in_files],
        hosts=tuple(observed.placement.nodes[node].host for node in node_id[ranks].tolist()),
    )


def one_per_node(observed: Observed, use: FileUse) -> np.ndarray:
    """bool (n_columns,), the rank of each node that uses files far more than the others there.

    None is True unless every node of at least two has such a rank, and they use files about equally.
    """
    users = np.zeros(len(observed.ranks), bool)
    if observed.placement is None:
        return users
    nodes = observed.placement.node_id[observed.ranks]
    for node in np.unique(nodes):
        here = np.flatnonzero(nodes == node)
        here = here[np.argsort(-use.amount[here], kind="stable")]
        if node < 0 or len(here) < 2 or use.amount[here[0]] < FAR_MORE * use.amount[here[1]]:
            return np.zeros(len(users), bool)
        users[here[0]] = True
    amounts = use.amount[users]
    if len(amounts) < 2 or amounts.min() <= 0 or amounts.max() > ALIKE * amounts.min():
        users[:] = False
    return users
