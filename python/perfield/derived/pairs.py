# SPDX-License-Identifier: BSD-3-Clause
"""Messages and waits of pairs of ranks, added up over frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfield.analysis.observed import PAIRS, WAITS
from perfield.analysis.pair_keys import pair_keys
from perfield.run.run_directory import RunDirectory
from perfield.run.snapshot import Snapshot

SMALL = 2  # bins of messages by size: up to 511 B


def messages(run: RunDirectory, positions: Sequence[int]) -> np.ndarray:
    """What source sent to target (or target fetched) over all calls in the frames at some positions.

    Returns a structured array (PAIRS), a row per pair, by source and target.
    """
    return _sums(run, positions, "messages", PAIRS)


def waits(run: RunDirectory, positions: Sequence[int]) -> np.ndarray:
    """How long a rank waited for each peer: a structured array (WAITS), a row per pair, by rank."""
    return _sums(run, positions, "waits", WAITS)


def added_up(parts: Sequence[np.ndarray], columns: np.dtype) -> np.ndarray:
    """Rows of several tables that have these columns and maybe others, added up by pair of ranks."""
    one, other, *amounts = columns.names
    rows = {name: np.concatenate([_column(part, name) for part in parts]) for name in columns.names}
    keys = pair_keys(rows[one], rows[other])
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[order], prepend=-1 - keys[order[:1]]))
    total = np.zeros(len(first), columns)
    total[one], total[other] = rows[one][order][first], rows[other][order][first]
    for name in amounts if len(first) else ():
        total[name] = np.add.reduceat(rows[name][order].astype(columns[name]), first)
    return total


def _column(rows: np.ndarray, name: str) -> np.ndarray:
    if name == "small" and name not in rows.dtype.names:
        return rows["sizes"][:, :SMALL].sum(axis=1, dtype=np.uint64)
    return rows[name]


def _sums(run: RunDirectory, positions: Sequence[int], table: str, columns: np.dtype) -> np.ndarray:
    snapshot = Snapshot(run)
    total = np.zeros(0, columns)
    places = np.asarray(positions, dtype=np.int64)
    for begin in range(0, len(places), snapshot.steps_per_chunk):
        rows = snapshot.run.rows(places[begin : begin + snapshot.steps_per_chunk], table)
        total = added_up([total, rows], columns)
    return total
