# SPDX-License-Identifier: BSD-3-Clause
"""Looks at frames little by little, in an order that shows the whole run early.

A run of 4,096 ranks and 1,000 steps has four million entries, which takes seconds to read. Each request reads
for a fraction of a second and says how far it came.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import numpy as np

ENTRIES = 1 << 14  # read at once
NUMBERS = 1 << 21  # made at once: 16 MB


def spread(unread: np.ndarray, most: int) -> np.ndarray:
    """At most `most` of some positions, evenly over all of them, ascending."""
    if len(unread) <= most:
        return unread
    return unread[np.linspace(0, len(unread) - 1, most).round().astype(np.int64)]


def at_once(n_ranks: int, n_names: int) -> int:
    """How many frames to read at once."""
    n_ranks = max(n_ranks, 1)
    return max(1, min(ENTRIES // n_ranks, NUMBERS // (n_ranks * max(n_names, 1))))


def look(
    unread: Collection[int] | np.ndarray,
    n_ranks: int,
    n_names: int,
    take: Callable[[np.ndarray], None],
    seconds: float,
    in_order: bool = False,
) -> bool:
    """Gives positions to `take`, some at a time, until none is left or the time is over; at least once.

    unread : positions of frames. in_order : takes them as they follow one another, in place of spread over
    all frames. Returns whether none is left.
    """
    end = time.monotonic() + seconds
    left = np.sort(np.asarray(list(unread) if not isinstance(unread, np.ndarray) else unread, dtype=np.int64))
    size = at_once(n_ranks, n_names)
    while len(left):
        chosen = left[:size] if in_order else spread(left, size)
        take(chosen)
        left = left[~np.isin(left, chosen)]
        if time.monotonic() >= end:
            break
    return not len(left)
