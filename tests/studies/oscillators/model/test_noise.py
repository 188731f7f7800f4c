# SPDX-License-Identifier: BSD-3-Clause
"""Noise: reproducible whatever the solver does, with the moments that its kind promises."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from perfield.studies.oscillators.model import Model, ModelError, Noise, oscillate
from perfield.studies.oscillators.model.initial import perturbed
from perfield.studies.oscillators.model.noise import KINDS
from perfield.studies.oscillators.model.potentials import Tanh
from perfield.studies.oscillators.model.topologies import by_send
from perfield.studies.rhythm.model import order_parameter

FREE = {"coupling": 0.0, "frequency": 1.0}


def chain(n: int = 18, **more: object) -> Model:
    return Model(by_send(n, (1,)), Tanh(5.0), **more)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_depends_on_the_seed_but_not_on_the_solver(kind):
    model = chain(6, noise=Noise(kind, 0.1))
    start, few, many = perturbed(6), np.linspace(0, 3, 3), np.linspace(0, 3, 61)
    found = oscillate(model, start, few, seed=5).phase.values
    other = oscillate(model, start, many, seed=5, method="RK45", rtol=1e-9).phase.values
    assert other[:, ::30] == pytest.approx(found, abs=1e-6)
    assert np.abs(oscillate(model, start, few, seed=6).phase.values - found)[:, 1:].min() > 1e-6


def test_noise_of_an_oscillator_does_not_depend_on_how_many_there_are():
    for kind in KINDS:
        few = oscillate(chain(3, noise=Noise(kind), **FREE), np.zeros(3), np.array([0.0, 1.05])).phase.values
        many = oscillate(chain(9, noise=Noise(kind), **FREE), np.zeros(9), np.array([0.0, 1.05])).phase.values
        assert many[:3] == pytest.approx(few, abs=1e-12)


def test_a_later_start_meets_the_same_noise():
    for kind in KINDS:
        noise = Noise(kind, 0.3, correlation=0.7)
        early = list(islice(noise.holds(1, 4, 0), 30))
        late = list(islice(noise.holds(1, 4, 20), 10))
        for before, after in zip(early[20:], late):
            for one, other in zip(before, after):
                assert (one is None and other is None) or one == pytest.approx(other, abs=1e-14)


def end_of_free_oscillators(noise: Noise, end: float, n: int = 4000) -> np.ndarray:
    model = chain(n, noise=noise, **FREE)
    return oscillate(model, np.zeros(n), np.array([0.0, end]), seed=2, rtol=1e-6).phase.values[:, -1]


def test_the_papers_noise_makes_time_run_faster_by_its_mean():
    end = end_of_free_oscillators(Noise("paper_uniform", 0.4), 2.0)
    assert end.mean() == pytest.approx(2.0 * 1.2, rel=3e-3)  # 1 + p / 2
    # 20 holds of 0.1 s, each with the variance p^2 / 12
    assert end.std() == pytest.approx(0.1 * 0.4 * np.sqrt(20 / 12), rel=0.05)


def test_zero_mean_noise_keeps_the_mean_frequency():
    end = end_of_free_oscillators(Noise("zero_mean_uniform", 0.4), 2.0)
    assert end.mean() == pytest.approx(2.0, rel=3e-3)
    assert end.std() == pytest.approx(0.1 * 0.4 * np.sqrt(20 / 3), rel=0.05)


def test_white_noise_spreads_phases_as_the_root_of_time():
    for end in (0.5, 2.0):
        spread = end_of_free_oscillators(Noise("white", 0.3), end).std()
        assert spread == pytest.approx(0.3 * np.sqrt(end), rel=0.05)


def test_ornstein_uhlenbeck_noise_has_its_deviation_and_correlation():
    drawn = np.array([term for _, term in islice(Noise("ornstein_uhlenbeck", 0.2).holds(1, 4000, 0), 11)])
    assert drawn.std(axis=1) == pytest.approx(np.full(11, 0.2), rel=0.05)
    assert np.corrcoef(drawn[0], drawn[10])[0, 1] == pytest.approx(
        np.exp(-1.0), abs=0.05
    )  # 10 holds of 0.1 s


def test_noise_ends_when_it_is_reported_to():
    model = chain(5, noise=Noise("paper_uniform", 0.5, until=0.25), **FREE)
    found = oscillate(model, np.zeros(5), np.array([0.0, 0.25, 1.25])).phase.values
    assert found[:, 2] - found[:, 1] == pytest.approx(np.ones(5), abs=1e-9)
    assert np.ptp(found[:, 1]) > 1e-3


def time_of_order(model: Model, seed: int) -> float:
    times = np.linspace(120, 200, 321)
    order = order_parameter(oscillate(model, perturbed(18), np.r_[0, times], seed=seed).phase).values[1:]
    return times[order < 0.97][-1]


@pytest.mark.long
def test_only_the_mean_of_the_papers_noise_hastens_resynchronisation():
    # omega = 1, c = 1 / 18, s = 5: without noise R >= 0.97 after 159.9 s, the law is that over 1 + p / 2
    matlab = {"frequency": 1.0}
    alone = time_of_order(chain(**matlab), 0)
    assert alone == pytest.approx(159.9, abs=0.3)
    for size in (0.02, 0.05, 0.10, 0.20):
        noisy = [
            time_of_order(chain(**matlab, noise=Noise("paper_uniform", size)), seed) for seed in range(5)
        ]
        assert np.median(noisy) == pytest.approx(alone / (1 + size / 2), rel=0.02)
    balanced = [
        time_of_order(chain(**matlab, noise=Noise("zero_mean_uniform", 0.2)), seed) for seed in range(5)
    ]
    assert np.median(balanced) > alone + 3


def test_noise_that_makes_no_sense_is_refused():
    with pytest.raises(ModelError, match="'pink' is unknown; choose one of paper_uniform"):
        Noise("pink")
    with pytest.raises(ModelError, match="size = -1 makes no noise"):
        Noise(size=-1)
    with pytest.raises(ModelError, match="hold = 0 s makes no noise"):
        Noise(hold=0.0)
