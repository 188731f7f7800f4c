# SPDX-License-Identifier: BSD-3-Clause
"""Timings and latencies drawn from a model: for tests, and for programs that are to meet a bad network."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.studies.regimes.model.model import Model
from perfield.studies.regimes.model.timings import REGIME, timings


def simulated(model: Model, n_ranks: int, n_steps: int, seed: int) -> xr.Dataset:
    """Timings drawn from the model, independent for each rank, with the true regime of each point.

    Returns `time_s` and `regime` (rank, step). The same seed gives the same numbers. A Gaussian of seconds
    may give negative times, as the paper's slow regime does; the caller decides what they mean. A Student's t
    of logarithms has outliers without bound and no mean: fit "log-gaussian" to draw times that add up.
    """
    random = np.random.default_rng(seed)
    chosen = random.random((n_steps, n_ranks))
    state = np.empty((n_steps, n_ranks), dtype=np.int64)
    rows = np.cumsum(np.vstack([model.transition, model.start]), axis=1)
    rows[:, -1] = 1
    before = np.full(n_ranks, model.n_states)
    for step in range(n_steps):
        before = (chosen[step][:, np.newaxis] >= rows[before]).sum(axis=1)
        state[step] = before
    state = state.T
    shape = state.shape
    unit = random.standard_normal(shape) if model.dof is None else random.standard_t(model.dof, shape)
    values = model.location[state] + model.scale[state] * unit
    drawn = timings(values if model.emission == "gaussian" else np.exp(values), name=model.field)
    return drawn.assign({REGIME: (("rank", "step"), model.regime[state].astype(np.int8))})
