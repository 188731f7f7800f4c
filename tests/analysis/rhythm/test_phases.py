# SPDX-License-Identifier: BSD-3-Clause
"""Phases of a run's ranks."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from perfield.analysis.rhythm import order_parameter, phases


def steps_of(begin, end):
    """A Dataset of steps with the given stamps (step, rank)."""
    dims = ("step", "rank")
    return xr.Dataset(
        {"begin_s": (dims, begin), "end_s": (dims, end)},
        {"step": np.arange(len(begin)), "rank": np.arange(begin.shape[1])},
    )


def test_rank_half_a_step_late_is_half_a_turn_behind():
    end = np.array([[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]])
    found = phases(steps_of(end - 1, end), np.array([1.0, 1.5, 2.25]))
    assert found.phase.values / (2 * np.pi) == pytest.approx(np.array([[1, 1.5, 2.25], [0.5, 1, 1.75]]))
    assert order_parameter(found.phase).values == pytest.approx(0, abs=1e-12)
