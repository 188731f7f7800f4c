# SPDX-License-Identifier: BSD-3-Clause
"""One rank that the others wait for, although it computes no longer than they do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.chance import differences
from perfield.analysis.explanation import rank_waited_for
from perfield.analysis.findings.finding import WORTH_TELLING, Finding, Picture
from perfield.analysis.imbalance import FIELDS, OF_REGIONS, imbalance_to_tell
from perfield.analysis.observed import Observed
from perfield.analysis.words import in_percent, in_seconds

QUESTION = "Do ranks wait for one that computes no longer than they do?"
KINDS = ("rank that all wait for",)
NEEDS = ("waited_for_time_s", "waiting_time_s", "steps")
LIKES = (*FIELDS, *OF_REGIONS, "io_time_s")
MOSTLY = 0.6  # of what others wait for it: if it works on files that long, files are the problem


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the rank, unless an imbalance or its files explain it: other findings tell these.

    A rank that waits for others itself, as long as each waits for it, is no cause but a link of a chain.
    """
    waited = np.nan_to_num(observed.of("waited_for_time_s").astype(float))
    named = observed.waits[(observed.waits["peer"] >= 0) & (observed.waits["time_s"] > 0)]
    known, all_waiting = named["time_s"].sum(), np.nansum(observed.of("waiting_time_s"), dtype=float)
    column = rank_waited_for(waited, known, all_waiting)
    if column is None:
        return
    imbalance = imbalance_to_tell(observed, WORTH_TELLING)
    if imbalance is not None and column in imbalance[0].found.most:
        return
    rank = observed.ranks[column]
    waits = named[named["peer"] == rank]["time_s"]
    each = float(waits.sum() / max(1, len(waits)))
    files = np.nansum(observed.of("io_time_s")[:, column], dtype=float)
    if each < WORTH_TELLING * observed.elapsed_s or files >= MOSTLY * each:
        return
    if named[named["rank"] == rank]["time_s"].sum() >= each:  # it passes on what it waits for itself
        return
    wait = "1 rank waits" if len(waits) == 1 else f"{len(waits)} ranks wait"
    in_all = "" if len(waits) == 1 else " in all"
    share = in_percent(waits.sum() / all_waiting)
    yield Finding(
        kind="rank that all wait for",
        words=f"{wait} {in_seconds(waits.sum())}{in_all} for rank {rank}, {share} of all waiting, "
        f"although rank {rank} computes no longer than others.",
        saved_s=each,
        remedy="Look at what this rank does before it sends: messages sent one by one, or other calls of "
        "MPI; post its sends earlier, or use a collective call.",
        picture=Picture("heat_map", "waited_for_time_s"),
        ranks=np.array([rank], np.int64),
        chance=differences(waited).chance,
    )
