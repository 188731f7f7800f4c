# SPDX-License-Identifier: BSD-3-Clause
"""Phases at the start."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.studies.oscillators.model import ModelError, initial


def test_starts_are_those_of_the_paper():
    assert initial.synchronised(3).tolist() == [0, 0, 0]
    assert initial.spaced(4) == pytest.approx(np.pi * np.array([0.5, 1.0, 1.5, 2.0]))  # 2 pi i / n
    assert initial.perturbed(4) == pytest.approx([1.5 * np.pi, 0, 0, 0])
    assert initial.perturbed(4, value=2.0, first=2).tolist() == [2, 2, 0, 0]


def test_a_disordered_start_is_uniform_and_the_same_for_a_seed():
    start = initial.disordered(20000, seed=4)
    assert start.min() >= 0 and start.max() < 2 * np.pi
    assert np.histogram(start, 4)[0] == pytest.approx(np.full(4, 5000), abs=250)
    assert (start[:7] == initial.disordered(7, seed=4)).all()
    assert (start[:7] != initial.disordered(7, seed=5)).all()


def test_a_delay_is_a_negative_phase():
    assert initial.delayed(3, oscillator=1, periods=2.0) == pytest.approx([0, -4 * np.pi, 0])


def test_oscillators_that_are_not_there_are_refused():
    with pytest.raises(ModelError, match="first = 5 of 4 oscillators"):
        initial.perturbed(4, first=5)
    with pytest.raises(ModelError, match="oscillator 4 cannot be delayed; there are 0 to 3"):
        initial.delayed(4, oscillator=4, periods=1)
