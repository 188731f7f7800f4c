# SPDX-License-Identifier: BSD-3-Clause
"""Interaction potentials: their values, slopes and integrals, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.studies.oscillators.model import ModelError
from perfield.studies.oscillators.model.potentials import (
    POTENTIALS,
    Custom,
    Fourier,
    MexicanHat,
    PerEdge,
    PiecewiseSine,
    Sine,
    Tanh,
    described,
    potential,
)

X = np.linspace(-9.0, 9.0, 181) + 1e-3
EACH = [Sine(), Tanh(), Tanh(18.0), PiecewiseSine(), PiecewiseSine(1.0), Fourier(), MexicanHat()]


@pytest.mark.parametrize("of", EACH, ids=str)
def test_potentials_are_odd(of):
    assert of(-X) == pytest.approx(-of(X), abs=1e-12)


@pytest.mark.parametrize("of", EACH, ids=str)
def test_slope_and_integral_belong_to_the_potential(of):
    own = Custom(of)  # finds both numerically
    calm = np.abs(np.abs(X) - getattr(of, "sigma", 99.0)) > 1e-3
    assert of.slope(X)[calm] == pytest.approx(own.slope(X)[calm], abs=2e-5)
    near = np.abs(X) < (0.9 if isinstance(of, PiecewiseSine) else 3.0)
    tolerance = 1e-4 if of == Tanh(18.0) else 1e-10  # 64 nodes see a step of width 1 / 18
    assert of.integral(X)[near] == pytest.approx(own.integral(X)[near], abs=tolerance)


def test_piecewise_sine_is_continuous_and_one_at_sigma():
    of = PiecewiseSine(2.0)
    assert of(np.array([2.0, -2.0])) == pytest.approx([1.0, -1.0])  # eq. 4 says >= sigma
    assert of(np.array([2.0 - 1e-9])) == pytest.approx([1.0])
    assert of(np.array([0.0, 4.0 / 3.0])) == pytest.approx([0.0, 0.0], abs=1e-15)  # stable at 2 sigma / 3
    assert of.slope(np.array([4.0 / 3.0]))[0] > 0 > of.slope(np.array([0.0]))[0]
    assert of.integral(np.array([1.999999, 2.000001])) == pytest.approx([-4 / (3 * np.pi)] * 2, abs=1e-5)


def test_fourier_repels_at_short_range_as_computed():
    of = Fourier(0.5, 0.1, 18)
    assert of.slope(np.zeros(1)) == pytest.approx([-4.4])  # 1 - a N + 2 b N
    x = np.linspace(1e-3, np.pi - 1e-3, 200001)
    v = of(x)
    rises = x[1:][(v[:-1] < 0) & (v[1:] >= 0)]
    # zeros with V' > 0 in (0, pi), found by bisection on eq. 5
    assert rises == pytest.approx([0.161549, 0.478813, 2.951723], abs=3e-5)


def test_mexican_hat_has_its_minima_one_radius_away():
    of = MexicanHat(radius=2.0, depth=0.5)
    assert of(np.array([2.0, -2.0, 0.0])) == pytest.approx([0, 0, 0])
    assert of.integral(np.array([2.0, -2.0, 0.0])) == pytest.approx([-0.5, -0.5, 0.0])
    assert of.slope(np.array([2.0]))[0] > 0 > of.slope(np.array([0.0]))[0]


def test_choice_per_edge_gives_each_edge_its_own_potential():
    both = PerEdge((Sine(), Tanh(2.0)), np.array([0, 1, 1]))
    x = np.array([[0.5, 1.0], [0.5, 1.0], [-0.5, 2.0]])
    for method in ("__call__", "slope", "integral"):
        found = getattr(both, method)(x)
        assert found[0] == pytest.approx(getattr(Sine(), method)(x[0]))
        assert found[1:] == pytest.approx(getattr(Tanh(2.0), method)(x[1:]))
    with pytest.raises(ModelError, match="choice for 3 edges, but got x of shape"):
        both(np.zeros(4))
    with pytest.raises(ModelError, match="from 0 to 1, one for each edge"):
        PerEdge((Sine(), Tanh()), np.array([0, 2]))


def test_an_unknown_potential_names_the_known_ones():
    with pytest.raises(
        ModelError, match="'tan' is unknown; choose one of sine, tanh, piecewise_sine, fourier"
    ):
        potential("tan")
    with pytest.raises(ModelError, match="'tanh' has no parameter 'sigma'; it takes steepness"):
        potential("tanh", sigma=1.0)
    assert potential("tanh", steepness=3.0) == Tanh(3.0)
    assert {type(potential(name)) for name in POTENTIALS} == set(POTENTIALS.values())


def test_widths_and_steepness_must_be_positive():
    for sigma in (0.0, -1.0, np.nan):
        with pytest.raises(ModelError, match=r"sigma = .* makes no potential; give a finite number above 0"):
            PiecewiseSine(sigma)
    with pytest.raises(ModelError, match="steepness = 0 makes no potential"):
        Tanh(0.0)


def test_a_function_that_changes_the_shape_is_refused():
    with pytest.raises(ModelError, match="work element by element"):
        Custom(np.sum)


def test_descriptions_hold_name_and_parameters():
    assert described(Tanh(18.0)) == {"name": "tanh", "steepness": 18.0}
    assert described(Custom(np.sin)) == {"name": "custom", "function": "sin"}
    assert described(PerEdge((Sine(), Tanh()), np.array([1])))["choices"][0] == {"name": "sine"}
