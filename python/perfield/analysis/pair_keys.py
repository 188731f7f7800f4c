# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of ranks as single numbers, so that they can be sorted, counted and looked up."""

from __future__ import annotations

import numpy as np


def pair_keys(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """A number for each pair of ranks, int64 in their shape; it sorts by source, then by target."""
    return np.asarray(source).astype(np.int64) << 32 | np.asarray(target).astype(np.int64) & 0xFFFFFFFF


def ends_of(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Source and target of `pair_keys`, int32."""
    return (keys >> 32).astype(np.int32), keys.astype(np.uint32).view(
        np.int32
    )  # the view keeps negative ones
