# SPDX-License-Identifier: BSD-3-Clause
"""Colours: waiting has a map of its own, and regimes differ for all eyes."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.catalyst_scripts.palette import (
    ABSENT,
    MAPS,
    PALETTE,
    TEXT,
    UNKNOWN,
    WARNING_TEXT,
    colour_map,
    pale,
    regime_colours,
)

WHITE = (1.0, 1.0, 1.0)


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


@pytest.mark.parametrize(("letters", "behind"), [(TEXT, WHITE), (TEXT, ABSENT), (WARNING_TEXT, WHITE)])
def test_letters_can_be_read_on_what_is_behind_them(letters, behind):
    def luminance(rgb):  # of WCAG 2.1, whose level AA wants 4.5:1
        part = np.array(rgb)
        linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
        return linear @ (0.2126, 0.7152, 0.0722)

    dark, light = sorted(map(luminance, (letters, behind)))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_categories_differ_for_colour_blind_eyes():
    shades = [seen_without_green_receptors(rgb) for rgb in (*PALETTE, ABSENT, UNKNOWN)]
    apart = {(a, b): np.linalg.norm(shades[a] - shades[b]) for a in range(len(shades)) for b in range(a)}
    assert min(apart.values()) > 0.1, min(apart, key=apart.get)


@pytest.mark.parametrize("name", ["viridis", "magma"])
def test_larger_values_are_lighter_for_colour_blind_eyes(name):
    text = MAPS[name]
    colours = [[part / 255 for part in bytes.fromhex(text[n : n + 6])] for n in range(0, len(text), 6)]
    light = [seen_without_green_receptors(rgb) @ (0.2126, 0.7152, 0.0722) for rgb in colours]
    assert (np.diff(light) > 0).all()


def test_fastest_regime_is_blue_and_the_slowest_vermilion():
    for n in range(2, 9):
        colours = regime_colours(n)
        assert len(colours) == n and (colours[0], colours[-1]) == (PALETTE[0], PALETTE[4])
    assert len(set(regime_colours(7))) == 7
