# SPDX-License-Identifier: BSD-3-Clause
"""Blocks are as long as the likeness of steps asks for, and keep it in what is resampled."""

import numpy as np
import pytest

from perfield.studies.regimes.model import RegimeError, block_length, interval, resampled_sums


def autoregressive(rho, n, seed):
    noise = np.random.default_rng(seed).standard_normal(n)
    for at in range(1, n):
        noise[at] += rho * noise[at - 1]
    return noise


def test_independent_steps_need_short_blocks():
    lengths = [block_length(np.random.default_rng(seed).standard_normal(4000)) for seed in range(20)]
    assert np.median(lengths) <= 2


def test_blocks_of_an_autoregressive_series_have_the_length_of_theory():
    rho, n = 0.8, 20_000
    theory = 1.5 ** (1 / 3) * (2 * rho / (1 - rho**2)) ** (2 / 3) * n ** (1 / 3)  # Politis and White, 2004
    lengths = [block_length(autoregressive(rho, n, seed)) for seed in range(10)]
    assert np.median(lengths) == pytest.approx(theory, rel=0.25)


def test_constant_series_needs_no_blocks():
    assert block_length(np.full(100, 3.0)) == 1


def test_few_steps_are_refused():
    with pytest.raises(RegimeError, match="7 steps are too few for confidence intervals; give at least 8"):
        block_length(np.arange(7.0))


@pytest.mark.parametrize("length", [1, 7, 100, 1000])
def test_resampled_sums_of_what_each_step_has_are_exact(length):
    per_step = np.stack([np.ones(100), np.full(100, 1e9)], axis=1)
    np.testing.assert_allclose(
        resampled_sums(per_step, length, 20), np.broadcast_to([100, 1e11], (20, 2)), rtol=1e-14
    )


def test_resampled_sums_scatter_as_much_as_series_of_that_likeness():
    rho, n, tries = 0.8, 1000, 300
    among = np.std([autoregressive(rho, n, seed).sum() for seed in range(tries)])
    one = autoregressive(rho, n, tries)
    blocks, singly = (resampled_sums(one[:, None], length).std() for length in (block_length(one), 1))
    assert blocks == pytest.approx(among, rel=0.25)
    assert singly < 0.5 * among


def test_same_seed_gives_the_same():
    per_step = np.random.default_rng(0).standard_normal((50, 2))
    first, again, other = (resampled_sums(per_step, 5, 10, seed) for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).all()


def test_interval_leaves_out_what_is_unknown():
    values = np.append(np.arange(101.0), [np.nan, np.nan])
    low, high = interval(values, 0.9)
    assert (low, high) == (5, 95)
    assert np.isnan(interval(np.full(4, np.nan))).all()
