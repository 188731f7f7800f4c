# SPDX-License-Identifier: BSD-3-Clause
"""Sums of a table's rows by the rank that wrote them."""

from __future__ import annotations

import numpy as np


def by_rank(n_ranks: int, ranks: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Sums of numbers, as float64 and in their order, by rank: (n_ranks,). ranks : the rank of each."""
    return np.bincount(ranks, weights=numbers.astype(np.float64), minlength=n_ranks)
