# SPDX-License-Identifier: BSD-3-Clause
"""Sums of rows of structured arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def added_up(rows: np.ndarray, keys: Sequence[str], amounts: Sequence[str]) -> np.ndarray:
    """Rows with the same keys as one, sorted by the keys, the first one first.

    rows : structured, any order. keys, amounts : names of its columns; amounts are added up, and each other
    column has the value of one of the rows.
    """
    rows = rows[np.lexsort([rows[name] for name in reversed(keys)])]
    first = np.zeros(len(rows), dtype=bool)
    first[:1] = True
    for name in keys:
        first[1:] |= rows[name][1:] != rows[name][:-1]
    begin = np.flatnonzero(first)
    if len(begin) == len(rows):
        return rows
    total = rows[begin]
    for name in amounts:
        total[name] = np.add.reduceat(rows[name], begin)
    return total
