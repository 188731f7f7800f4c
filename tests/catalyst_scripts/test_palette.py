# SPDX-License-Identifier: BSD-3-Clause
"""Colours: waiting has a map of its own, so that it never looks like cost."""

from __future__ import annotations

import pytest

from perfield.catalyst_scripts.palette import colour_map


@pytest.mark.parametrize(
    "field",
    [
        *("waiting_time_s", "mpi_time_s", "mpi_wait_time_s", "solve_mpi_collective_time_s"),
        *("solve_mpi_time_s", "waiting_time_s_mean", "mpi_time_s_p95"),
        *("waiting_time_s_before", "solve_mpi_wait_time_s_after"),
    ],
)
def test_waiting_is_magma(field):
    assert colour_map(field) == "magma"


@pytest.mark.parametrize(
    "field",
    [
        *("compute_time_s", "solve_compute_time_s", "solve_time_s", "mpi_io_time_s", "waited_for_time_s"),
        *("compute_time_s_maximum", "mpi_call_count", "sent_bytes"),
    ],
)
def test_all_else_is_viridis(field):
    assert colour_map(field) == "viridis"


@pytest.mark.parametrize("field", ["compute_time_s_difference", "waiting_time_s_difference", "phase_steps"])
def test_differences_have_a_map_with_a_middle(field):
    assert colour_map(field) == "RdBu_r"
