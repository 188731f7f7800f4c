# SPDX-License-Identifier: BSD-3-Clause
"""Memory that grows step by step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.chance import chance_of_hits
from perfield.analysis.findings.finding import Finding, Picture
from perfield.analysis.findings.placed import rank_ranges
from perfield.analysis.findings.sight import Sight
from perfield.analysis.observed import Observed
from perfield.text import counted, in_bytes, in_percent

QUESTION = "Does a rank need more and more memory?"
KINDS = ("growing memory",)
NEEDS = ("resident_bytes", "steps")
CHANCE = 1e-3
SETTLED = 0.2  # of the run, in which programs still allocate
MOST_PARTS = 30
LEAST = 0.1  # growth relative to the memory after that
LEAST_BYTES = 1e6
STILL = 0.5  # of the mean growth, in the last third; less is a plateau


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding about the ranks whose memory keeps growing.

    The run's parts are compared one with the next. Memory that rises and falls by chance, however it does,
    rises in half of them; the sign test gives the chance of so many rises, for any of the ranks.
    """
    table = observed.of("resident_bytes").astype(float)
    table = table[int(SETTLED * len(table)) :]
    if len(table) < 4:
        return
    parts = np.array([part.mean(axis=0) for part in np.array_split(table, min(MOST_PARTS, len(table)))])
    change = np.diff(parts, axis=0)
    rises, falls = (change > 0).sum(axis=0), (change < 0).sum(axis=0)
    chance = np.minimum(_of_signs(rises, rises + falls) * len(observed.ranks), 1.0)
    grown = parts[-1] - parts[0]
    third = len(parts) // 3
    still = parts[-1] - parts[-1 - third] >= STILL * grown * third / (len(parts) - 1)
    enough = grown > np.maximum(LEAST * parts[0], LEAST_BYTES)
    growing = np.flatnonzero(still & enough & (chance < CHANCE))
    if not len(growing):
        return
    most = growing[grown[growing].argmax()]
    n_steps = len(table) * observed.n_program_steps / len(observed.of("resident_bytes"))
    per_step = grown[most] / (n_steps * (len(parts) - 1) / len(parts))
    who = rank_ranges(observed.ranks[growing])
    by = f", most on rank {observed.ranks[most]}:" if len(growing) > 1 else ""
    yield Finding(
        kind="growing memory",
        words=f"The memory of {who} keeps growing{by} by {in_bytes(per_step)} per step, "
        f"from {in_bytes(parts[0, most])} to {in_bytes(parts[-1, most])}.",
        saved_s=None,
        remedy="Look for what is allocated in each step and kept; `valgrind --leak-check=full` or heaptrack "
        "on that rank names the line.",
        picture=Picture("heat_map", "resident_bytes"),
        ranks=observed.ranks[growing],
        chance=float(chance[growing].max()),
    )


def _of_signs(rises: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The sign test: the probability of at least so many rises among n changes, for each rank."""
    pairs, inverse = np.unique(np.stack([rises, n], axis=1), axis=0, return_inverse=True)
    return np.array([chance_of_hits(hits, tries, 0.5) for hits, tries in pairs.tolist()])[inverse.ravel()]


def sees(observed: Observed) -> Sight:
    """Whether a sign test over so many parts can reach the level at all: if all of them rise."""
    n_rows = len(observed.of("resident_bytes"))
    n_parts = min(MOST_PARTS, n_rows - int(SETTLED * n_rows))
    if n_parts < 4 or 0.5 ** (n_parts - 1) * len(observed.ranks) > CHANCE:
        return Sight(f"The test needs more than {counted(n_rows, 'step')} for so many ranks.", False)
    return Sight(
        f"Memory that grows from part to part of the run, by {in_percent(LEAST)} and "
        f"{in_bytes(LEAST_BYTES)} in all, would have been found."
    )
