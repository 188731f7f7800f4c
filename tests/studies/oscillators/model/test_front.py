# SPDX-License-Identifier: BSD-3-Clause
"""How a perturbation travels in the model, against reference speeds."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from perfield.studies.oscillators.model import Model, ModelError, Noise, oscillate
from perfield.studies.oscillators.model.front import front, hops
from perfield.studies.oscillators.model.initial import delayed, disordered, perturbed
from perfield.studies.oscillators.model.potentials import Tanh
from perfield.studies.oscillators.model.topologies import by_send, chain, ring

N = 100


def perturbed_chain(steepness, end, *, bidirectional=False):
    model = Model(chain(N, bidirectional=bidirectional), Tanh(steepness), normalisation="none")
    return model, oscillate(model, perturbed(N), np.linspace(0, end, 1500), rtol=1e-6).phase


@pytest.mark.parametrize(
    ("steepness", "half", "percent"), [(1.0, 0.986, 1.182), (5.0, 4.44, 5.60), (18.0, 13.7, 19.1)]
)
def test_speed_in_one_direction_is_that_of_the_prototype(steepness, half, percent):
    # Prototype: slope of arrival over ranks 20 to 80 of 100, c = 1; the head of a linear front moves at c s.
    model, phase = perturbed_chain(steepness, 180 / steepness)
    assert front(phase, model, 0.5).speed == pytest.approx(half, rel=0.01)
    assert front(phase, model, 0.01).speed == pytest.approx(percent, rel=0.01)


def test_front_of_a_bidirectional_chain_diffuses():
    # Prototype: arrival ~ distance^2.31 for s = 5; a wave would have exponent 1.
    model, phase = perturbed_chain(5.0, 500.0, bidirectional=True)
    found = front(phase, model, 0.01)
    assert 1.8 < found.exponent < 2.8
    assert found.reached < N - 1


def test_late_rank_reaches_only_its_receivers():
    model = Model(chain(8), Tanh(5.0), normalisation="none")
    phase = oscillate(model, delayed(8, oscillator=3, periods=0.5), np.linspace(0, 9, 200)).phase
    found = front(phase, model, 0.02)  # most of it is gone soon, as rank 3 catches up with rank 2
    assert np.isfinite(found.arrival).tolist() == [False] * 4 + [True] * 4
    assert found.reached == 4 and (np.diff(found.arrival[4:]) > 0).all()


def test_beside_an_unperturbed_model_noise_hides_no_front():
    model, times = Model(chain(12), Tanh(12.0), noise=Noise(size=0.1)), np.linspace(0, 60, 241)
    phase, without = (
        oscillate(model, start, times, seed=5, rtol=1e-5).phase for start in (perturbed(12), np.zeros(12))
    )
    found = front(phase, model, 0.01, unperturbed=without)
    assert found.reached == 11 and found.speed == pytest.approx(1.0, abs=0.25)


def test_arrival_is_interpolated():
    model = Model(chain(3), Tanh())
    times = np.array([0.0, 1.0, 2.0])
    phase = xr.DataArray(
        [[1.0, 1.0, 1.0], [0.0, 0.2, 1.0], [0.0, 0.0, 0.0]], {"time": times}, ("oscillator", "time")
    ) + 2 * np.pi * xr.DataArray(times, {"time": times}, ("time",))
    assert front(phase, model, 0.6).arrival[1] == pytest.approx(1.5)


def test_hops_follow_the_messages():
    np.testing.assert_array_equal(hops(by_send(6, (1, 2)), np.array([1])), [np.nan, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(hops(ring(5), np.array([3])), [2, 3, 4, 0, 1])


@pytest.mark.parametrize(
    ("start", "more", "sentence"),
    [
        (disordered(4), {}, "no oscillators start apart from a majority"),
        (perturbed(4), {"noise": Noise()}, "a front needs one constant frequency of all oscillators and no"),
        (perturbed(4), {"frequency": np.arange(4.0)}, "a front needs one constant frequency"),
    ],
)
def test_a_front_that_means_nothing_is_refused(start, more, sentence):
    model = Model(chain(4), Tanh(), **more)
    with pytest.raises(ModelError, match=sentence):
        front(oscillate(model, start, np.linspace(0, 1, 3)).phase, model)
