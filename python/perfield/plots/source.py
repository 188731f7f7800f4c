# SPDX-License-Identifier: BSD-3-Clause
"""Where plots get their numbers: from the files of a run, unless somebody has read them already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.imbalance import most_to_save
from perfield.derived.region_sums import RegionSums
from perfield.plots.style import COMPUTING, WAITING
from perfield.run.snapshot import Snapshot
from perfield.topology import placement_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perfield.derived.run import Run

ENTRIES = 16_384  # step entries to read at once


class Source:
    """Reads what plots draw, chunk by chunk. A class that has the numbers in memory may stand in for it.

    All methods take positions of frames.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    def values(self, positions: np.ndarray, names: list[str]) -> Iterator[np.ndarray]:
        """Yields (n_some, len(names), n_ranks), the values of these steps in turn, NaN where absent."""
        for _, values in Snapshot(self.run).in_chunks(positions, names):
            yield values

    def of_steps(self, positions: np.ndarray) -> np.ndarray:
        """(3, n_positions) s: largest and mean compute time and mean waiting time of each frame; NaN where no
        rank has one."""
        found = np.full((3, len(positions)), np.nan)
        begin = 0
        for values in self.values(positions, [COMPUTING, WAITING]):
            part = slice(begin, begin := begin + len(values))
            present = np.isfinite(values)
            some = present.any(axis=2)
            sums = np.where(present, values, 0.0).sum(axis=2)
            mean = np.divide(sums, present.sum(axis=2), np.full_like(sums, np.nan), where=some)
            largest = np.where(present[:, 0], values[:, 0], -np.inf).max(axis=1)
            found[:, part] = np.where(some[:, 0], largest, np.nan), mean[:, 0], mean[:, 1]
        return found

    def saved_s(self, positions: np.ndarray) -> float:
        """What balancing compute time would save at most, s, as the summary and findings count it."""
        largest, mean = self.of_steps(positions)[:2]
        step_s, work_s = np.zeros(self.run.n_ranks), 0.0
        for values in self.values(positions, ["step_time_s", "compute_cpu_time_s"]):
            step_s += np.nansum(values[:, 0], axis=0)
            work_s += float(np.nansum(values[:, 1]))
        most = most_to_save(step_s, work_s, np.flatnonzero(step_s > 0), placement_of(self.run))
        return min(float(np.nansum(largest - mean)), most)

    def elapsed_s(self, positions: np.ndarray) -> float:
        """How long the steps took: s of the rank that measured longest, as the summary counts it."""
        of_ranks = np.zeros(self.run.n_ranks)
        for values in self.values(positions, ["step_time_s"]):
            of_ranks += np.nansum(values[:, 0], axis=0)
        return float(of_ranks.max(initial=0.0))

    def messages(self, positions: np.ndarray) -> Iterator[np.ndarray]:
        """Yields structured arrays with `source`, `target` and `bytes`, of all messages or of pairs."""
        snapshot, at_once = Snapshot(self.run), max(1, ENTRIES // max(self.run.n_ranks, 1))
        for begin in range(0, len(positions), at_once):
            yield snapshot.run.rows(positions[begin : begin + at_once], "messages")

    def region_sums(self, positions: np.ndarray) -> RegionSums:
        """The times of all regions."""
        return RegionSums(self.run, positions)
