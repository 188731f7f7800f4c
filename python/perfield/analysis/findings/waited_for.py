# SPDX-License-Identifier: BSD-3-Clause
"""One rank that the others wait for, although it computes no longer than they do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings import empty_messages, late_rank, tiny_messages, wait_causes
from perfield.analysis.findings.finding import Finding, Picture
from perfield.analysis.findings.imbalance import proof
from perfield.analysis.findings.sight import Sight
from perfield.analysis.observed import Observed

QUESTION = "Do ranks wait for one that computes no longer than they do?"
KINDS = ("rank that all wait for",)
ANSWERED_BY = ("messages to one rank",)
NEEDS = late_rank.NEEDS
LIKES = late_rank.LIKES


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the rank, unless an imbalance, its files or needless messages explain it: these are reported.

    Where both ends of messages are known, they show where waiting begins, and this question is theirs.
    """
    if wait_causes.is_explained(observed):
        return
    late = late_rank.late_rank(observed)
    if late is None or empty_messages.late_rank_of(observed) or tiny_messages.late_rank_of(observed):
        return
    yield Finding(
        kind="rank that all wait for",
        words=f"{late.words}, {late.share} of all waiting, although rank {late.rank} "
        f"{late_rank.how_long_it_computes(observed, late.rank)}.",
        saved_s=late.each_s,
        remedy="Look at what this rank does before it sends: messages sent one by one, or other calls of "
        "MPI; post its sends earlier, or use a collective call.",
        picture=Picture("heat_map", "waited_for_time_s"),
        ranks=np.array([late.rank], np.int64),
        **proof(late.found),
    )


def sees(observed: Observed) -> Sight:
    """How much longer others would have to wait for a rank."""
    if wait_causes.is_explained(observed):
        return wait_causes.sees(observed)
    return late_rank.sight(observed, observed.of("waited_for_time_s"))
