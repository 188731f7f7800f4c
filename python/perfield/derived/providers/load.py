# SPDX-License-Identifier: BSD-3-Clause
"""How much longer a rank computes than the others, in each step. The smallest provider: copy it."""

from __future__ import annotations

import numpy as np

from perfield.derived.providers import provided
from perfield.run.run_directory import RunDirectory


@provided(
    unit="1",
    meaning="compute time of the rank, divided by the mean of all ranks in the step; 1: as the mean",
    needs=("compute_time_s",),
    direction="lower",
    over_steps="again",
    in_runs="`pmpi` is a source",
    absent="the rank's compute time is not known, or no rank computed",
)
def relative_compute_time(run: RunDirectory, positions: np.ndarray) -> np.ndarray:
    """By what a step's imbalance is made: its largest value is the imbalance of the step."""
    time_s = run.values(["compute_time_s"], positions)[:, 0]
    known = np.isfinite(time_s)
    mean = np.where(known, time_s, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return time_s / np.where(mean > 0, mean, np.nan)[:, np.newaxis]


PROVIDER = relative_compute_time
