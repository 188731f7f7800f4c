# SPDX-License-Identifier: BSD-3-Clause
"""Integration of the model, against values of another solver."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.analysis.oscillators import Model, oscillate
from perfield.analysis.oscillators.potentials import Sine
from perfield.analysis.oscillators.topology import from_offsets


def test_two_oscillators_meet_as_the_closed_form_says():
    both = Model(from_offsets(2, (1, -1)), Sine(), coupling=2.0)
    times = np.linspace(0, 3, 7)
    found = oscillate(both, np.array([0.0, 2.0]), times)
    apart = found.phase[1] - found.phase[0]
    # x' = -2 c sin x with c = 1: tan(x / 2) = tan(x0 / 2) exp(-2 c t)
    expected = 2 * np.arctan(np.tan(1.0) * np.exp(-2 * times))
    assert apart.values == pytest.approx(expected, abs=5e-8)
