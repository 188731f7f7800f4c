# SPDX-License-Identifier: BSD-3-Clause
"""The limit of many ranks beside the oscillators themselves."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.studies.oscillators.model import Model, ModelError, oscillate
from perfield.studies.oscillators.model.front import front
from perfield.studies.oscillators.model.initial import perturbed
from perfield.studies.oscillators.model.many_ranks import (
    advected_arrival,
    advected_step,
    cascade,
    diffused_step,
    diffusion_rates,
)
from perfield.studies.oscillators.model.potentials import PiecewiseSine, Sine, Tanh
from perfield.studies.oscillators.model.stability import stability
from perfield.studies.oscillators.model.topologies import chain


def after(n, step, time, steepness, **more):
    """Phases at `time` of a chain whose first one starts ahead by `step`, less the common rotation."""
    model = Model(chain(n, **more), Tanh(steepness), normalisation="none")
    found = oscillate(model, perturbed(n, value=step), np.array([0, time]), rtol=1e-10, atol=1e-14)
    return found.phase.values[:, -1] - 2 * np.pi * time


def test_one_directional_chains_approach_the_conservation_law():
    missed = []
    for size in (5, 20, 80):
        limit = advected_step(Tanh(1.0), 1.0, size, np.arange(4 * size), 2.0 * size)
        missed.append(np.abs(after(4 * size, size, 2.0 * size, 1.0) - limit).max() / size)
    np.testing.assert_allclose(missed, [0.325, 0.117, 0.036], atol=0.002)


@pytest.mark.parametrize("sign", [1, -1])
def test_advected_tanh_has_its_closed_form(sign):
    # Ahead of the shock u = t c (tanh(s g) - g v / c) where c s / cosh(s g)^2 = v = x / t.
    c, s, time, x = 0.5, 3.0, 10.0, np.array([2.0, 8.0, 14.0, 16.0])
    gap = np.arccosh(np.sqrt(np.maximum(c * s * time / x, 1.0))) / s
    expected = np.minimum(2.0, time * (c * np.tanh(s * gap) - gap * x / time))
    np.testing.assert_allclose(advected_step(Tanh(s), c, sign * 2.0, x, time), sign * expected, atol=1e-6)


def test_limit_foretells_arrivals():
    n, s, step = 100, 5.0, 1.5 * np.pi
    model = Model(chain(n), Tanh(s), normalisation="none")
    found = front(oscillate(model, perturbed(n), np.linspace(0, 60, 1000), rtol=1e-6).phase, model, 0.5)
    limit = advected_arrival(Tanh(s), 1.0, step, 50, 0.5)
    assert limit == pytest.approx(15.479, abs=1e-3)
    assert found.arrival[50] == pytest.approx(limit, rel=0.06)


def test_linear_cascade_is_exact_for_small_steps():
    found = after(60, 1e-3, 400.0, 0.05)
    np.testing.assert_allclose(found / 1e-3, cascade(0.05, 1.0, np.arange(60), 400.0), atol=1e-8)


def test_small_steps_diffuse_along_bidirectional_chains():
    for time, within in ((10.0, 3e-3), (100.0, 3e-4)):
        found = after(200, 1e-3, time, 1.0, bidirectional=True)
        limit = diffused_step(1.0, 1e-3, np.arange(200), time)
        assert np.abs(found - limit).max() < within * found.max()
        assert limit.sum() == pytest.approx(1e-3)


@pytest.mark.parametrize("n", [18, 100])
def test_modes_decay_as_fast_as_diffusion_says(n):
    slowest = -stability(
        Model(chain(n, bidirectional=True), Tanh(2.0), normalisation="none"), np.zeros(n)
    ).slowest
    limit = diffusion_rates(2.0, n, 3)
    # 2 - 2 cos x = x^2 (1 - x^2 / 12 + ...)
    assert limit[0] == 0
    assert limit[1] / slowest - 1 == pytest.approx((np.pi / n) ** 2 / 12, rel=0.01)


def test_repulsion_has_no_such_limit():
    for potential, step in ((PiecewiseSine(1.0), 0.9), (Sine(), 5.0)):
        with pytest.raises(ModelError, match="needs a potential that is concave"):
            advected_step(potential, 1.0, step, np.arange(3), 1.0)
