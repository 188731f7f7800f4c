# SPDX-License-Identifier: BSD-3-Clause
"""Interaction potentials V(x) of the phase difference x = theta_j - theta_i, in radians, unwrapped."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Potential(Protocol):
    """How strongly a sender pulls a receiver; odd: a sender that is ahead (x > 0) pulls the receiver on."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """V(x), without unit, of the shape of x."""

    def slope(self, x: np.ndarray) -> np.ndarray:
        """dV/dx."""

    def integral(self, x: np.ndarray) -> np.ndarray:
        """The integral of V from 0 to x: what the Lyapunov function adds up."""


class Sine:
    """V(x) = sin x, of the classical Kuramoto model (eq. 1)."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.sin(x)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """dV/dx = cos x."""
        return np.cos(x)

    def integral(self, x: np.ndarray) -> np.ndarray:
        """1 - cos x."""
        return 1.0 - np.cos(x)
