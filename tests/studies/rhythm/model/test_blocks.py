# SPDX-License-Identifier: BSD-3-Clause
"""Metrics work in blocks of time: the same values, in little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import xarray as xr
from known_runs.planted_phases import phases_of

from perfield.studies.oscillators.model.topologies import by_send
from perfield.studies.rhythm.model import (
    blocks,
    entropy,
    order_parameter,
    phase_gradient,
    phase_variance,
    potential,
    spread,
    state,
    wavefront,
)

RANKS = 30
RING = by_send(RANKS, (1, -1), periodic=True)
METRICS = {
    "order_parameter": order_parameter,
    "spread": spread,
    "phase_variance": phase_variance,
    "entropy": entropy,
    "phase_gradient": lambda phase: phase_gradient(phase, RING),
    "potential": lambda phase: potential(phase, RING, np.tanh),
    "wavefront": wavefront,
    "state": lambda phase: state(phase, RING),
}


@pytest.mark.parametrize("name", METRICS)
def test_small_blocks_give_what_one_gives(name, monkeypatch):
    rng = np.random.default_rng(8)
    periods = rng.normal(0, rng.uniform(0, 0.5, 101), (RANKS, 101))
    periods[rng.random(periods.shape) < 0.05] = np.nan
    phase = phases_of(periods)
    before = phase.copy(deep=True)
    whole = METRICS[name](phase)
    monkeypatch.setattr(blocks, "BLOCK", 7 * RANKS)
    xr.testing.assert_allclose(METRICS[name](phase), whole, rtol=1e-12)
    assert phase.identical(before)  # the caller's phases stay as they were


@pytest.mark.parametrize("name", ["order_parameter", "spread", "phase_variance", "entropy", "wavefront"])
def test_memory_does_not_grow_with_time(name):
    # 1,024 ranks x 8,192 instants, 64 MiB; a complex copy would take 128 MiB.
    line = np.linspace(0, 1e4, 8192)
    phase = xr.DataArray(np.broadcast_to(line, (1024, 8192)), {"time": line}, ("oscillator", "time"))
    tracemalloc.start()
    METRICS[name](phase)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 56 * 2**20  # less than one copy
