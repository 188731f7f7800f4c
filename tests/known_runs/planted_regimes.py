# SPDX-License-Identifier: BSD-3-Clause
"""Timings whose slow phases are known: who, when, how slow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from perfield.studies.regimes.model import REGIME, Model, simulated, timings

FAST_S, SLOW_S = 1e-3, 3e-3


def two_levels(stay_fast: float = 0.95, stay_slow: float = 0.85) -> Model:
    """Steps of about 1 and 3 ms, and how probable it is that a regime lasts for another step."""
    leave = 1 - stay_fast, 1 - stay_slow
    return Model(
        emission="log-gaussian",
        location=np.log([FAST_S, SLOW_S]),
        scale=[0.02, 0.1],
        dof=None,
        start=[leave[1] / sum(leave), leave[0] / sum(leave)],
        transition=[[stay_fast, leave[0]], [leave[1], stay_slow]],
        regime=[0, 1],
    )


def planted(
    n_ranks: int, n_steps: int, phases: Sequence[tuple[Sequence[int], int, int]], noise: float = 0.02
) -> xr.Dataset:
    """Classified timings: ranks take SLOW_S in steps begin to end - 1 of each phase (ranks, begin, end), and
    FAST_S in all others."""
    regime = np.zeros((n_ranks, n_steps), np.int8)
    for ranks, begin, end in phases:
        regime[list(ranks), begin:end] = 1
    random = np.random.default_rng(0)
    time_s = np.where(regime, SLOW_S, FAST_S) * np.exp(noise * random.standard_normal(regime.shape))
    return timings(time_s).assign({REGIME: (("rank", "step"), regime)})


def by_node(n_nodes: int, per_node: int, n_steps: int, seed: int) -> xr.Dataset:
    """Timings of which all ranks of a node are slow together, each node at times of its own."""
    of_node = simulated(two_levels(0.98, 0.9), n_nodes, n_steps, seed)
    regime = np.repeat(of_node[REGIME].values, per_node, axis=0)
    random = np.random.default_rng(seed)
    time_s = np.where(regime, SLOW_S, FAST_S) * np.exp(0.02 * random.standard_normal(regime.shape))
    return timings(time_s).assign({REGIME: (("rank", "step"), regime)})
