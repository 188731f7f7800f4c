# SPDX-License-Identifier: BSD-3-Clause
"""Phases of a run's ranks, from the begin and end of their steps on one clock."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.analysis.rhythm.dataset import RUN, phase_dataset


def phases(steps: xr.Dataset, times: np.ndarray | None = None) -> xr.Dataset:
    """Phases of ranks: 2 pi times (steps completed + the fraction of the current step).

    steps : `run.steps`, of which begin_s and end_s (step, rank) count. times : s on the run's common clock;
    by default as many as there are steps, between the last rank's begin and the first one's end.
    Returns a Dataset in the form of `phase_dataset`: NaN where a rank is in no known step.
    """
    begin, end = steps["begin_s"].values, steps["end_s"].values
    if times is None:
        times = np.linspace(np.nanmax(begin[0]), np.nanmin(end[-1]), len(begin))
    phase = np.full((begin.shape[1], len(times)), np.nan)
    for rank in range(begin.shape[1]):
        knots = np.stack([begin[:, rank], end[:, rank]], axis=1).ravel()
        level = np.stack([np.arange(len(begin)), np.arange(1, len(begin) + 1)], axis=1).ravel()
        phase[rank] = np.interp(times, knots, level, left=np.nan, right=np.nan)
    return phase_dataset(2 * np.pi * phase, times, source=RUN, oscillators=steps["rank"].values)
