# SPDX-License-Identifier: BSD-3-Clause
"""Memory that grows step by step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.finding import Finding, Picture
from perfield.analysis.observed import Observed
from perfield.analysis.words import in_bytes

QUESTION = "Does a rank need more and more memory?"
KINDS = ("growing memory",)
NEEDS = ("resident_bytes",)
ALWAYS = 0.8  # of the tenths of a run in which memory must grow
SETTLED = 0.2  # of the run, in which programs still allocate
LEAST = 0.1  # growth relative to the memory after that


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding about the ranks whose memory grows in at least four fifths of the run's parts."""
    table = observed.of("resident_bytes").astype(float)
    table = table[int(SETTLED * len(table)) :]
    if len(table) < 10:
        return
    parts = np.array([np.nanmean(part, axis=0) for part in np.array_split(table, 10)])
    grown = parts[-1] - parts[0]
    always = (np.diff(parts, axis=0) > 0).mean(axis=0) >= ALWAYS
    growing = np.flatnonzero(always & (grown > LEAST * parts[0]))
    if not len(growing):
        return
    most = growing[grown[growing].argmax()]
    per_step = grown[most] / (0.9 * (1 - SETTLED) * observed.n_steps)
    others = f" and of {len(growing) - 1} more ranks" if len(growing) > 1 else ""
    yield Finding(
        kind="growing memory",
        words=f"The memory of rank {observed.ranks[most]}{others} grows by {in_bytes(per_step)} per step, "
        f"from {in_bytes(parts[0, most])} to {in_bytes(parts[-1, most])}.",
        saved_s=None,
        remedy="Look for what is allocated in each step and kept; valgrind --leak-check=full or heaptrack "
        "on that rank names the line.",
        picture=Picture("heat_map", "resident_bytes"),
        ranks=observed.ranks[growing],
    )
