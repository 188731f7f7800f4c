# SPDX-License-Identifier: BSD-3-Clause
"""Messages and waits of pairs of ranks, added up over frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfield.run.run import RunDirectory
from perfield.run.snapshot import Snapshot

MESSAGE_SUMS = np.dtype(
    [("source", "i4"), ("target", "i4"), ("count", "u8"), ("bytes", "u8"), ("empty", "u8")]
)
WAIT_SUMS = np.dtype([("rank", "i4"), ("peer", "i4"), ("count", "u8"), ("time_s", "f8")])


def messages(run: RunDirectory, positions: Sequence[int]) -> np.ndarray:
    """What source sent to target (or target fetched) over all calls in the frames at some positions.

    Returns a structured array (MESSAGE_SUMS), a row per pair, by source and target.
    """
    return _sums(run, positions, "messages", MESSAGE_SUMS)


def waits(run: RunDirectory, positions: Sequence[int]) -> np.ndarray:
    """How long a rank waited for each peer: a structured array (WAIT_SUMS), a row per pair, by rank."""
    return _sums(run, positions, "waits", WAIT_SUMS)


def _sums(run: RunDirectory, positions: Sequence[int], table: str, columns: np.dtype) -> np.ndarray:
    snapshot = Snapshot(run)
    one, other, *amounts = columns.names
    total = np.zeros(0, columns)
    places = np.asarray(positions, dtype=np.int64)
    for begin in range(0, len(places), snapshot.steps_per_chunk):
        rows = snapshot.rows(places[begin : begin + snapshot.steps_per_chunk], table)
        new = np.zeros(len(total) + len(rows), columns)
        for name in columns.names:
            new[name] = np.concatenate([total[name], rows[name]])
        keys = new[one].astype(np.int64) << 32 | new[other].astype(np.int64) & 0xFFFFFFFF
        _, first, pair = np.unique(keys, return_index=True, return_inverse=True)
        total = new[first]
        for name in amounts:
            total[name] = 0
            np.add.at(total[name], pair.ravel(), new[name])
    return total
