# SPDX-License-Identifier: BSD-3-Clause
"""Few ranks use files for all, while the others wait (thesis, Figure 7.32)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.file_costs import (
    FILE_FIELDS,
    MORE_FILE_FIELDS,
    file_use,
    saved_by_spreading_s,
    when,
)
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.io_by_one_rank_per_node import one_per_node
from perfield.analysis.observed import Observed
from perfield.text import in_bytes, in_number, in_ranks, part_of, start

QUESTION = "Do few ranks read and write for all?"
KINDS = ("I/O through few ranks",)
NEEDS = FILE_FIELDS
LIKES = MORE_FILE_FIELDS
NEARLY_ALL = 0.9  # of the bytes
FEW = 0.25  # of the ranks


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if a quarter of the ranks use nine tenths of the bytes, and that costs 1 %.

    One rank per node is another finding.
    """
    use = file_use(observed)
    if use is None or one_per_node(observed, use).any():
        return
    order = np.argsort(-use.amount, kind="stable")
    held = np.cumsum(use.amount[order]) / use.amount.sum()
    n_users = int((held < NEARLY_ALL).sum()) + 1
    if n_users > FEW * len(order):
        return
    users = np.isin(np.arange(len(order)), order[:n_users])
    saved_s = saved_by_spreading_s(observed, users)
    if saved_s < WORTH_REPORTING * observed.elapsed_s:
        return
    ranks = observed.ranks[users]
    do = use.verb.replace("s", "")
    yield Finding(
        kind="I/O through few ranks",
        words=f"{start(in_ranks(ranks))} {use.verb if n_users == 1 else do} {part_of(held[n_users - 1])} "
        f"the {in_bytes(use.amount.sum())} that the {in_number(len(order))} ranks {do} in files"
        f"{when(observed, use)}; the others wait for that.",
        saved_s=saved_s,
        remedy="Let all ranks use files in parallel: one file by MPI_File_write_at_all or parallel HDF5, or "
        "a file per rank (OpenFOAM: -fileHandler uncollated, or collated with ioRanks).",
        picture=Picture("heat_map", use.field),
        ranks=ranks,
        steps=observed.index[use.in_files],
    )
