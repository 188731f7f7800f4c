# SPDX-License-Identifier: BSD-3-Clause
"""How events of a run are read in bounded memory: in blocks of steps. A message may cross the end of a step,
and a delay many ends; so each block is looked at together with steps before and behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits.costs import FOLLOWED
from perfield.run.arrivals import read_arrivals

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory

EVENTS_AT_ONCE = 1 << 20  # 72 MB, and mostly twice as much for their wait states
CROSSED = 1  # steps that a message crosses between its ends, at most, to be matched


@dataclass(frozen=True)
class Blocks:
    """How a run is read in bounded memory.

    size : frames of a block, which holds about EVENTS_AT_ONCE events. followed : frames on either side of a
    block across which delays are followed: FOLLOWED, or fewer where that would take more than another block.
    """

    size: int
    followed: int

    def of(self, positions: np.ndarray) -> Iterator[np.ndarray]:
        """The positions of frames in blocks."""
        for begin in range(0, len(positions), self.size):
            yield positions[begin : begin + self.size]


def blocks_of(run: RunDirectory) -> Blocks:
    """How to read a run. Looks at a few frames."""
    events = events_per_frame(run)
    size = max(1, EVENTS_AT_ONCE // events)
    return Blocks(size, int(np.clip((2 * EVENTS_AT_ONCE // events - size) // 2, CROSSED, FOLLOWED)))


def events_per_frame(run: RunDirectory) -> int:
    """About how many events a frame has; at least 1. Looks at a few frames, one of them with a log."""
    if not len(run):
        return 1
    sample = np.unique(np.linspace(0, len(run) - 1, 4).astype(np.int64))
    return max(1, max(len(read_arrivals(run, sample[n : n + 1])) for n in range(len(sample))))


def window_of(run: RunDirectory, positions: np.ndarray, margin: int) -> np.ndarray:
    """Positions with those at most `margin` before and behind each of them."""
    around = (positions[:, np.newaxis] + np.arange(-margin, margin + 1)).ravel()
    return np.unique(around[(around >= 0) & (around < len(run))])


def places_in(steps: np.ndarray, last: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of steps that lie in the frames at some positions: index into positions, and which steps these are."""
    frame = np.searchsorted(last, steps)
    at = np.searchsorted(positions, frame)
    kept = at < len(positions)
    kept[kept] = positions[at[kept]] == frame[kept]
    return at[kept], np.flatnonzero(kept)
