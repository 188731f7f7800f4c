# SPDX-License-Identifier: BSD-3-Clause
"""Timings with known regimes: the paper's Table 1 (fixed alpha), with slow regimes of several forms."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.studies.regimes.model import REGIME, TIME, timings

SHARES, STAY = (0.33, 0.32, 0.35), 0.9
MEANS_MS, DEVIATIONS_MS = (1.79, 1.89, 2.89), (0.0589, 0.0549, 6.19)


def slow_ms(random: np.random.Generator, form: str, shape: tuple[int, ...]) -> np.ndarray:
    """Times of the slow regime: "gaussian"; "tail", 3 % of which are outliers; or "above 2.0", log-normal."""
    if form == "gaussian":
        return MEANS_MS[2] + DEVIATIONS_MS[2] * random.standard_normal(shape)
    if form == "tail":
        ordinary = 2.15 + 0.15 * random.standard_normal(shape)
        return np.where(random.random(shape) < 0.97, ordinary, 2.15 + random.exponential(5, shape))
    floor = float(form.split()[1])
    mean = MEANS_MS[2] - floor
    variance = np.log(1 + (DEVIATIONS_MS[2] / mean) ** 2)
    return floor + np.exp(np.log(mean) - variance / 2 + np.sqrt(variance) * random.standard_normal(shape))


def levels(seed: int, n_ranks: int = 20, n_steps: int = 8192, form: str = "above 2.0") -> xr.Dataset:
    """Timings of three regimes, each of which lasts ten draws on average, with their true `regime`."""
    random = np.random.default_rng(seed)
    drawn = random.choice(3, (n_ranks, n_steps), p=SHARES)
    stays = random.random((n_ranks, n_steps)) < STAY
    stays[:, 0] = False
    last = np.maximum.accumulate(np.where(stays, 0, np.arange(n_steps)), axis=1)
    state = np.take_along_axis(drawn, last, axis=1)
    fast = [
        mean + deviation * random.standard_normal(state.shape)
        for mean, deviation in zip(MEANS_MS[:2], DEVIATIONS_MS[:2])
    ]
    found = timings(np.choose(state, [*fast, slow_ms(random, form, state.shape)]) * 1e-3, name="MatVec")
    return found.assign({REGIME: (("rank", "step"), state.astype(np.int8))})


def accuracy(found: xr.Dataset, truth: xr.Dataset) -> float:
    """The share of known points with the right regime."""
    known = found[REGIME].values >= 0
    return float((found[REGIME].values == truth[REGIME].values)[known].mean())


def mean_s(times: xr.Dataset, regime: xr.DataArray, number: int) -> float:
    """The mean time of the points of a regime."""
    return float(times[TIME].values[regime.values == number].mean())
