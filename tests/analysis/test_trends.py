# SPDX-License-Identifier: BSD-3-Clause
"""A trend is one that chance, a jump, a slow end or output steps do not make."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.analysis.trends import trend

LEVEL = 1e-3
AT = np.arange(80) / 80


def noise(seed, deviation=0.05):
    return deviation * np.random.default_rng(seed).standard_normal(80)


def drifting(seed):
    """Noise that remembers: each value is 0.8 of the one before, and more."""
    values = np.random.default_rng(seed).standard_normal(80)
    for n in range(1, 80):
        values[n] += 0.8 * values[n - 1]
    return 1 + 0.05 * values


def grows(values):
    found = trend(values)
    return found.chance < LEVEL and found.is_steady


def test_line_is_found_with_its_ends():
    found = trend(1 + 0.3 * AT + noise(1))
    assert found.chance < 1e-6 and found.is_steady
    np.testing.assert_allclose([found.start, found.end], [1.0, 1.3], atol=0.03)
    assert found.growth == found.end - found.start


def test_output_steps_do_not_hide_a_trend():
    assert grows(1 + 0.3 * AT + noise(2) + 5 * (np.arange(80) % 5 == 4))


@pytest.mark.parametrize(
    "values",
    [
        1 + noise(3) + (AT > 0.9),
        1 + noise(4) + (AT < 0.1),
        1 + noise(5) + 0.5 * (AT > 0.5),
        1 - 0.3 * AT + noise(6),
        np.ones(80),
    ],
    ids=["a slow end", "a slow begin", "one jump", "falling", "constant"],
)
def test_what_does_not_rise_all_along_is_no_trend(values):
    assert not grows(values)


def test_jump_beyond_chance_is_not_steady():
    deviation = 0.2 * np.random.default_rng(7).standard_normal(400)
    found = trend(1 + 0.5 * (np.arange(400) >= 200) + deviation)
    assert (found.chance < LEVEL, found.is_steady) == (True, False)


def test_noise_is_no_trend_even_if_it_remembers():
    assert not any(grows(1 + noise(seed, 0.2)) for seed in range(200))
    assert sum(grows(drifting(seed)) for seed in range(200)) <= 1


def test_too_few_or_absent_values_have_no_trend():
    assert trend(np.arange(10.0)) is None
    assert trend(np.where(AT > 0.5, np.nan, AT)) is None
