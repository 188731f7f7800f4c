# SPDX-License-Identifier: BSD-3-Clause
"""Phases at the start of a model (section 3.4.1), float64 (n,), rad."""

from __future__ import annotations

import numpy as np

from perfield.studies.oscillators.model.noise import uniform
from perfield.studies.rhythm.model.errors import ModelError

_START = 3  # stream of the seed


def synchronised(n: int) -> np.ndarray:
    """All at 0."""
    return np.zeros(n)


def disordered(n: int, *, seed: int = 0) -> np.ndarray:
    """Uniform in [0, 2 pi), the same for a seed."""
    return 2 * np.pi * uniform(seed, _START, 0, n)


def spaced(n: int, *, gap: float | None = None) -> np.ndarray:
    """i `gap` for i = 1 ... n: a wavefront, each oscillator ahead of the one before; 2 pi / n by default.

    The paper prints i / (2 pi n), which spans 0.16 rad, and says "across [0, 2 pi]"; the words are followed.
    """
    return (2 * np.pi / n if gap is None else gap) * np.arange(1, n + 1)


def perturbed(n: int, *, value: float = 1.5 * np.pi, first: int = 1) -> np.ndarray:
    """0, but for the `first` oscillators, which start at `value` (rad).

    The paper's figures have 3 pi / 2 on one. A positive value is AHEAD of the others.
    """
    if not 1 <= first <= n:
        raise ModelError(f"first = {first} of {n} oscillators cannot be perturbed; give 1 to {n}.")
    start = np.zeros(n)
    start[:first] = value
    return start


def delayed(n: int, *, oscillator: int = 0, periods: float) -> np.ndarray:
    """0, but for one oscillator that is late by so many `periods`: at -2 pi periods."""
    if not 0 <= oscillator < n:
        raise ModelError(f"oscillator {oscillator} cannot be delayed; there are 0 to {n - 1}.")
    start = np.zeros(n)
    start[oscillator] = -2 * np.pi * periods
    return start
