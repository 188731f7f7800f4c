# SPDX-License-Identifier: BSD-3-Clause
"""The metrics on the paper's three figures: a chain of 18 whose first oscillator begins at 3 pi / 2.

The values are those of the paper's equations, integrated by SciPy's DOP853 and evaluated once, independently
of this code, with Hazen's quantiles and an IQR of at least a tenth of the range.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from perfield.studies.oscillators.model.topologies import by_send
from perfield.studies.rhythm.model import entropy, order_parameter, phase_dataset, phase_gradient, potential

RANKS = 18


def stiff(x):
    """V(x) = tanh(18 x) (eq. 3)."""
    return np.tanh(18 * x)


def piecewise(x):
    """The piecewise sine (eq. 4) with sigma = pi."""
    return np.where(np.abs(x) < np.pi, -np.sin(1.5 * x), np.sign(x))


CASES = {
    "uni tanh": ((1,), stiff, 1 / RANKS),
    "bi tanh": ((1, -1), stiff, 2 / RANKS),
    "uni piecewise": ((1,), piecewise, 1 / RANKS),
}


@pytest.fixture(scope="module")
def figures():
    """The phases of each case at the times of the table, and its potential."""
    times = np.array([0.0, 20, 50, 100, 150, 500, 1000])
    found = {}
    for name, (offsets, pull, strength) in CASES.items():
        edges = by_send(RANKS, offsets)
        initial = np.zeros(RANKS)
        initial[0] = 1.5 * np.pi

        def rate(_, phase, edges=edges, pull=pull, strength=strength):
            apart = phase[edges.sender] - phase[edges.receiver]
            return np.bincount(edges.receiver, strength * pull(apart), minlength=RANKS)

        solved = solve_ivp(rate, (0, 1000), initial, "DOP853", times, rtol=1e-10, atol=1e-12)
        found[name] = phase_dataset(solved.y + 2 * np.pi * times, times, edges), pull
    return found


def at(series, time):
    """A series' value at a time."""
    return float(series.sel(time=time))


@pytest.mark.parametrize(
    ("case", "time", "expected"),
    [
        ("uni tanh", 0, np.sqrt(17**2 + 1) / 18),
        ("uni tanh", 20, 0.879033),
        ("uni tanh", 50, 0.805956),
        ("uni tanh", 100, 0.945986),
        ("uni tanh", 150, 1.0),
        ("bi tanh", 20, 0.899380),
        ("bi tanh", 50, 0.997195),
        ("bi tanh", 100, 0.999993),
        ("uni piecewise", 20, 0.887065),
        ("uni piecewise", 100, 0.354663),
        ("uni piecewise", 500, 0.419436),
        ("uni piecewise", 1000, 0.419435),
    ],
)
def test_order_parameter_of_the_figures(figures, case, time, expected):
    assert at(order_parameter(figures[case][0].phase), time) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("case", "time", "expected", "bins"),
    [
        ("uni tanh", 0, 0.214559, 14),
        ("uni tanh", 20, 1.211044, 8),
        ("uni tanh", 50, 1.185820, None),
        ("bi tanh", 20, 0.854806, None),
        ("uni piecewise", 1000, 0.867563, 3),
    ],
)
def test_entropy_of_the_figures(figures, case, time, expected, bins):
    found = entropy(figures[case][0].phase).sel(time=time)
    assert float(found) == pytest.approx(expected, abs=1e-6)
    assert bins in (None, int(found.bins))


@pytest.mark.parametrize(
    ("case", "time", "expected"),
    [
        ("uni tanh", 0, 1.0),
        ("uni tanh", 20, 10.215133),
        ("uni tanh", 50, 14.248384),
        ("uni tanh", 100, 8.664605),
        ("uni tanh", 150, 0.0),
        ("bi tanh", 0, 2.0),
        ("bi tanh", 20, 8.604337),
        ("bi tanh", 50, 1.893182),
        ("bi tanh", 100, 0.004685),
        ("uni piecewise", 100, 0.599957),
        ("uni piecewise", 1000, 0.0),
    ],
)
def test_potential_of_the_figures(figures, case, time, expected):
    data, pull = figures[case]
    assert at(potential(data.phase, data, pull), time) == pytest.approx(expected, rel=1e-6, abs=5e-7)


def test_largest_gradient_of_the_figures(figures):
    data, _ = figures["uni tanh"]
    assert at(phase_gradient(data.phase, data).max("oscillator"), 20) == pytest.approx(3.601278, abs=1e-6)


def test_gradient_of_the_locked_zigzag_is_two_thirds_of_sigma(figures):
    data, _ = figures["uni piecewise"]  # closed form: the stable gap is 2 sigma / 3
    gradient = phase_gradient(data.phase, data).sel(time=1000).values
    assert gradient[0] == 0
    assert gradient[1:] == pytest.approx(np.full(17, 2 * np.pi / 3), abs=1e-6)
