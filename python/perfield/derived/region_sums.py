# SPDX-License-Identifier: BSD-3-Clause
"""Adds up the times of a run's regions over frames: what each costs, and what balancing it would save."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.imbalance import most_to_save
from perfield.run.snapshot import Snapshot
from perfield.topology import placement_of

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory

PREFIX = "<region>_"
TIME, COST = "time_s", "compute_time_s"
WORK = "compute_cpu_time_s"


class RegionSums:
    """The times of all regions, added up over some frames of a run.

    Cost is compute time; where a run has no calls inside regions, or MPI was not watched, it is a region's
    whole time. Only ranks that entered a region in a frame count there.

    stems : what each region's fields begin with. n_frames : of the sums.
    seconds : kind of field without `<region>_` -> (n_regions, n_ranks) seconds, 0 where a rank never entered.
    entered : (n_regions, n_ranks), in how many frames the rank entered the region.
    step_s : (n_ranks,) seconds in steps.
    most_to_save_s : seconds that balancing all compute time would save at most; times of regions contain
    waiting for a PU, and their differences may make up for one another.
    longest_s, mean_s : (n_regions,) seconds, the sums over frames of the largest and of the mean cost of a
    rank. peak_s, peak_rank, peak_frame : (n_regions,) the largest cost of a rank in a frame, its rank, and
    the frame's position in the run; -1 where no rank entered.
    """

    def __init__(self, run: RunDirectory, positions: np.ndarray):
        """positions : of the frames to add up."""
        kinds = [kind for kind, field in run.columns.kinds.items() if _is_time(kind, field.unit)]
        self.stems, self.n_frames = list(run.columns.stems), len(positions)
        n_regions, n_ranks = shape = len(self.stems), run.n_ranks
        self.seconds = {kind.removeprefix(PREFIX): np.zeros(shape) for kind in kinds}
        self.entered, self.step_s = np.zeros(shape, dtype=np.int64), np.zeros(n_ranks)
        self.longest_s, self.mean_s, self.peak_s = np.zeros((3, n_regions))
        self.peak_rank, self.peak_frame = np.full((2, n_regions), -1)
        of_ranks = ("step_time_s", WORK, "compute_time_s")
        names = [*of_ranks, *(name for kind in kinds for name in run.columns.of_regions(kind))]
        work_s = saved_s = 0.0
        for here, values in Snapshot(run).in_chunks(positions, names):
            self.step_s += np.nansum(values[:, 0], axis=0)
            work_s += float(np.nansum(values[:, 1]))
            compute_s = np.nan_to_num(values[:, 2])
            saved_s += float((compute_s.max(axis=1, initial=0.0) - compute_s.mean(axis=1)).sum())
            of_kind = values[:, len(of_ranks) :].reshape(len(here), len(kinds), n_regions, n_ranks)
            self._add(here, dict(zip(self.seconds, np.moveaxis(of_kind, 1, 0))))
        ranks = np.flatnonzero(self.step_s > 0)
        self.most_to_save_s = min(saved_s, most_to_save(self.step_s, work_s, ranks, placement_of(run)))

    @property
    def saved_s(self) -> np.ndarray:
        """(n_regions,) seconds that balancing the region would save at most: its largest cost of a rank minus
        the mean over ranks, added up over frames, within `most_to_save_s`."""
        return np.minimum(self.longest_s - self.mean_s, self.most_to_save_s)

    @property
    def order(self) -> np.ndarray:
        """(n_regions,) regions, that whose balancing would save most first."""
        return np.argsort(self.mean_s - self.longest_s, kind="stable")

    @property
    def imbalance(self) -> np.ndarray:
        """(n_regions,) the largest cost of a rank over the mean, of the sums over frames; NaN without any."""
        return np.divide(
            self.longest_s, self.mean_s, np.full_like(self.mean_s, np.nan), where=self.mean_s > 0
        )

    def _add(self, positions: np.ndarray, values: dict[str, np.ndarray]) -> None:
        """values : kind -> (n_positions, n_regions, n_ranks)."""
        times = values[TIME]
        present = np.isfinite(times)
        self.entered += present.sum(axis=0)
        for kind, read in values.items():
            self.seconds[kind] += np.nan_to_num(read).sum(axis=0)
        cost = values.get(COST, times)
        cost = np.where(np.isfinite(cost), cost, times)
        counted = np.maximum(present.sum(axis=2), 1)
        self.longest_s += np.where(present, cost, 0.0).max(axis=2, initial=0.0).sum(axis=0)
        self.mean_s += (np.where(present, cost, 0.0).sum(axis=2) / counted).sum(axis=0)
        for region in np.flatnonzero(present.any(axis=(0, 2))):
            of_region = np.where(present[:, region], cost[:, region], -1.0)
            frame, rank = np.unravel_index(of_region.argmax(), of_region.shape)
            if self.peak_rank[region] < 0 or of_region[frame, rank] > self.peak_s[region]:
                self.peak_s[region], self.peak_rank[region] = of_region[frame, rank], rank
                self.peak_frame[region] = positions[frame]


def _is_time(kind: str, unit: str) -> bool:
    return kind.startswith(PREFIX) and kind.endswith(TIME) and unit == "s"
