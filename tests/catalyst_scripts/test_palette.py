# SPDX-License-Identifier: BSD-3-Clause
"""Colours: waiting has a map of its own, and regimes differ for all eyes."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.catalyst_scripts.palette import PALETTE, colour_map, pale, regime_colours


@pytest.mark.parametrize(
    "field",
    [
        *("waiting_time_s", "mpi_time_s", "mpi_wait_time_s", "solve_mpi_collective_time_s"),
        *("solve_mpi_time_s", "waiting_time_s_mean", "mpi_time_s_p95"),
        *("waiting_time_s_before", "solve_mpi_wait_time_s_after"),
        *("wait_late_sender_time_s", "wait_one_sided_time_s_mean"),
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


def seen_without_green_receptors(rgb):
    """Deuteranopia after Vienot, Brettel and Mollon, 1999, in linear light."""
    to_linear = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])
    return to_linear @ np.array(rgb) ** 2.2


@pytest.mark.parametrize("n", [2, 3, 4])
def test_regimes_differ_for_colour_blind_eyes(n):
    colours = regime_colours(n)
    shades = [seen_without_green_receptors(rgb) for one in colours for rgb in (one, pale(one))]
    apart = [np.linalg.norm(a - b) for at, a in enumerate(shades) for b in shades[:at]]
    assert min(apart) > 0.1


def test_fastest_regime_is_blue_and_the_slowest_vermilion():
    for n in range(2, 9):
        colours = regime_colours(n)
        assert len(colours) == n and (colours[0], colours[-1]) == (PALETTE[0], PALETTE[4])
    assert len(set(regime_colours(7))) == 7
