# SPDX-License-Identifier: BSD-3-Clause
"""Classified timings and studies of MatVecs for plots of regimes: small, and with known numbers."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr

from perfield.studies.regimes.model import Model, simulated, timings

MODEL = Model(
    emission="log-gaussian",
    location=np.log([1e-3, 3e-3]),
    scale=np.array([0.05, 0.3]),
    dof=None,
    start=np.array([0.7, 0.3]),
    transition=np.array([[0.95, 0.05], [0.1, 0.9]]),
    regime=np.array([0, 1]),
    field="time of a step",
)


def classified(n_ranks: int = 6, n_steps: int = 80, seed: int = 0) -> xr.Dataset:
    """Timings of two regimes that a model drew, with the true regimes."""
    return simulated(MODEL, n_ranks, n_steps, seed).assign_attrs(model=MODEL.to_json())


def longest(values, regimes) -> xr.Dataset:
    """A reduced series of these times in s, in these regimes."""
    row = (("rank", "step"), np.array([regimes], np.int8))
    return timings(values, [-1]).assign(regime=row).assign_attrs(model=MODEL.to_json())


def in_one_regime(n_ranks: int = 3, n_steps: int = 40, regime: int = 0) -> xr.Dataset:
    """Timings of a model with two regimes, all in one of them."""
    times = classified(n_ranks, n_steps)
    return times.assign(regime=xr.full_like(times["regime"], regime))


def study(n_ranks: int = 4, n_steps: int = 60, alpha: float = 0.5) -> xr.Dataset:
    """MatVecs of the model: 1 ms of inner elements, latencies of 0.3 ms in and 0.8 ms out, 1 ms more in the
    second half of the steps; their regime is 1 there."""
    late = np.broadcast_to(np.arange(n_steps) >= n_steps // 2, (n_ranks, n_steps))
    w_in = np.maximum(3e-4 + 1e-3 * late - alpha * 1e-3, 0)
    w_out = np.maximum(8e-4 + 1e-3 * late - (1 - alpha) * 1e-3, 0)
    parts = {"t_in": alpha * 1e-3 + w_in, "t_out": (1 - alpha) * 1e-3 + w_out, "w_in": w_in, "w_out": w_out}
    parts.update(alpha=np.full(late.shape, alpha), regime=late.astype(np.int8))
    found = timings(parts["t_in"] + parts["t_out"], name="MatVec")
    found = found.assign({name: (("rank", "step"), values) for name, values in parts.items()})
    reported = {"source": "model", "eps_s": 1e-4, "parameters": json.dumps({"mirror_s": 2e-4})}
    return found.assign_attrs(reported)


def texts(figure) -> str:
    """All words of a figure, after it was drawn to the end."""
    from io import BytesIO

    from matplotlib.text import Text

    figure.savefig(BytesIO(), format="png", dpi=40)
    return " | ".join(text.get_text() for text in figure.findobj(Text))
