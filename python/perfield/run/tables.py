# SPDX-License-Identifier: BSD-3-Clause
"""MPI calls in frames, row by row; and whose the rows of tables of step entries are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perfield.rows import added_up
from perfield.run.streams import Rows

CALL_ROWS = np.dtype([("step", "i8"), ("rank", "i4"), ("call", "i4"), ("count", "u8"), ("time_s", "f8")])


def entry_of(read: Mapping[str, np.ndarray], table: str) -> np.ndarray:
    """The entry of each row of a table of `_bridge.read_steps`. table : "call", "path", ..."""
    counts = np.diff(read[f"{table}_start"].astype(np.int64))
    return np.repeat(np.arange(len(counts)), counts)


def call_rows(entries: Rows, rows: np.ndarray, step: np.ndarray) -> np.ndarray:
    """MPI calls by step, rank and call, added up: CALL_ROWS.

    rows : numbers of step entries. step : (n_rows,), the step that each belongs to.
    """
    parts = [np.zeros(0, CALL_ROWS)]
    for read, steps, ranks in entries.in_steps(rows, step):
        of, calls = entry_of(read, "call"), read["calls"]
        part = np.zeros(len(calls), CALL_ROWS)
        part["step"], part["rank"] = steps[of], ranks[of]
        part["call"], part["count"], part["time_s"] = calls["call"], calls["count"], calls["ns"] * 1e-9
        parts.append(part)
    return added_up(np.concatenate(parts), ("step", "rank", "call"), ("count", "time_s"))
