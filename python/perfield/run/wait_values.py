# SPDX-License-Identifier: BSD-3-Clause
"""Waiting: which rank waited for which, and how long all others waited for each."""

from __future__ import annotations

import numpy as np

from perfield.run.sums import by_rank

WAITS = np.dtype([("rank", "i4"), ("peer", "i4"), ("count", "u8"), ("time_s", "f8")])


def add_waits(
    values: dict[str, np.ndarray], has_mpi: np.ndarray, ranks: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Adds how long others waited for each rank; returns all waits, as Frame has them.

    has_mpi : (n_ranks,) bool, where MPI was measured. ranks, rows : as for `waited_for_ns`.
    """
    waited = waited_for_ns(len(has_mpi), ranks, rows) * 1e-9
    values["waited_for_time_s"] = np.where(has_mpi, waited, np.nan)
    waits = np.zeros(len(rows), dtype=WAITS)
    waits["rank"], waits["peer"], waits["count"] = ranks, rows["peer"], rows["count"]
    waits["time_s"] = rows["ns"] / 1e9
    return waits


def waited_for_ns(n_ranks: int, ranks: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Nanoseconds that others waited for each rank, whole numbers as float64, so that parts add up exactly.

    ranks, rows : the rank of each row of the step entries' table of waits, and these rows.
    """
    known = (rows["peer"] >= 0) & (rows["peer"] < n_ranks) & (rows["peer"] != ranks)
    return by_rank(n_ranks, rows["peer"][known], rows["ns"][known])
