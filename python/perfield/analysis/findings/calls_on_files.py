# SPDX-License-Identifier: BSD-3-Clause
"""Few ranks spend time in calls on files, however few bytes these move: logs, monitors, small records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.chance import differences
from perfield.analysis.findings import io_by_one_rank_per_node, io_through_few_ranks
from perfield.analysis.findings.file_costs import FILE_FIELDS, MORE_FILE_FIELDS, saved_by_spreading_s
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.imbalance import CALLS_ON_FILES, proof
from perfield.analysis.findings.sight import LEAST_COST, Sight, of_ranks
from perfield.analysis.observed import Observed
from perfield.text import in_bytes, in_number, in_percent, in_ranks, in_seconds, start

QUESTION = "Do few ranks spend time in calls on files?"
KINDS = ("file calls of few ranks",)
NEEDS = FILE_FIELDS
LIKES = (*MORE_FILE_FIELDS, *CALLS_ON_FILES)
FEW = 0.25  # of the ranks


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the ranks that spend longest in files in all steps, if the others lose 1 % of the time by that.

    Ranks that use most bytes for all are other findings.
    """
    for by_bytes in (io_by_one_rank_per_node, io_through_few_ranks):
        if any(by_bytes.find(observed)):
            return
    file_s = np.nan_to_num(observed.of("io_time_s").astype(float))
    found = differences(file_s)
    if not found.names_ranks or len(found.most) > max(1, FEW * len(observed.ranks)):
        return
    users = np.isin(np.arange(len(observed.ranks)), found.most)
    saved_s = saved_by_spreading_s(observed, users)
    if saved_s < WORTH_REPORTING * observed.elapsed_s:
        return
    ranks, one = observed.ranks[users], len(found.most) == 1

    def own(*names: str) -> float:
        return sum(float(np.nansum(observed.of(name)[:, users], dtype=float)) for name in names)

    others_s = float(np.median(file_s[:, ~users].sum(axis=0)))
    calls, moved = own(*CALLS_ON_FILES), own("io_read_bytes", "io_write_bytes")
    yield Finding(
        kind="file calls of few ranks",
        words=f"{start(in_ranks(ranks))} {'spends' if one else 'spend'} {in_seconds(own('io_time_s'))} in "
        f"calls on files, {in_percent(own('io_time_s') / own('step_time_s'))} of "
        f"{'its' if one else 'their'} time: {in_number(calls)} calls move {in_bytes(moved)}. The other ranks "
        f"spend {in_seconds(others_s)} each, in the median.",
        saved_s=saved_s,
        remedy="Write less often, or more at once (a larger buffer, no flush after each line); share logs "
        "and monitors among ranks.",
        picture=Picture("heat_map", "io_time_s"),
        ranks=ranks,
        **proof(found),
    )


def sees(observed: Observed) -> Sight:
    """How much longer a rank would have to be in files; who spends less than 1 % of the time there is not
    reported at all."""
    file_s = np.nan_to_num(observed.of("io_time_s").astype(float))
    if file_s.sum(axis=0).max(initial=0.0) < WORTH_REPORTING * observed.elapsed_s:
        return Sight(f"No rank spends {LEAST_COST} in files.")
    return of_ranks(observed, file_s, "is in files")
