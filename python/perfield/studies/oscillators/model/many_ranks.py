# SPDX-License-Identifier: BSD-3-Clause
"""The limit of many ranks: chains as equations in space, to compare with the oscillators themselves.

x counts ranks, c is what V is multiplied by, u = theta minus the common rotation. If each rank receives from
the one before it, u_t = c V(-u_x), and the gap g = -u_x obeys a conservation law, g_t + (c V(g))_x = 0: what
happens moves at c V'(g), small gaps at c V'(0). If it receives from both sides, u_t = (c V(u_x))_x: diffusion
with D = c V'(0) for small gaps; nothing moves at a speed of its own.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfc, gammainc

from perfield.studies.oscillators.model.potentials import Potential
from perfield.studies.rhythm.model.errors import ModelError

_GAPS = 4000


def advected_step(
    potential: Potential, strength: float, step: float, distance: np.ndarray, time: float
) -> np.ndarray:
    """u at `distance` ranks (>= 0) behind a first rank that is ahead by `step` rad from 0 s on, in rad.

    One-directional chain; strength : c, rad/s. Entropy solution of the conservation law:
    u = min(step, t max_g (c V(g) - g x / t)), g from 0 to `step`; of a negative step its mirror image.
    Raises ModelError if V is not concave between 0 and the step (such as sin beyond pi), where fronts are
    of another kind.
    """
    size = abs(float(step))
    gaps = np.linspace(0, size, _GAPS)
    force = strength * np.asarray(potential(np.sign(step) * gaps), float) * np.sign(step)
    if (np.diff(force, 2) > 1e-9 * np.abs(force).max()).any():
        raise ModelError(
            f"the limit of many ranks needs a potential that is concave from 0 to {size:g} rad; tanh is, sin "
            "is up to pi, and repulsion is not."
        )
    x = np.asarray(distance, float)
    best = np.array([np.max(force * time - gaps * one) for one in x.ravel()]).reshape(x.shape)
    return np.sign(step) * np.minimum(size, best)


def advected_arrival(
    potential: Potential, strength: float, step: float, distance: float, share: float
) -> float:
    """When u reaches that share of the step at a distance (ranks), in s: the limit's arrival of a front."""
    from scipy.optimize import brentq

    slowest = strength * abs(float(potential(np.array([step]))[0]))
    begin = distance / (strength * float(potential.slope(np.zeros(1))[0]))
    end = begin + (distance * abs(step) + abs(step)) / max(slowest, 1e-300)

    def misses(time: float) -> float:
        return float(advected_step(potential, strength, step, np.array([distance]), time)[0] / step) - share

    return float(brentq(misses, 0.5 * begin, end, xtol=1e-6 * end))


def cascade(rate: float, step: float, distance: np.ndarray, time: float) -> np.ndarray:
    """u of a linear one-directional chain of separate ranks: step P(x, rate t), rad; rate = c V'(0), 1/s.

    The limit for small V, where separate ranks smear a front over sqrt(rate t) ranks. Exact for x >= 1.
    """
    return step * gammainc(np.maximum(np.asarray(distance, float), 1e-12), rate * time)


def diffused_step(rate: float, step: float, distance: np.ndarray, time: float) -> np.ndarray:
    """u of a long bidirectional chain whose first rank starts ahead by `step`, rad; rate = c V'(0) = D.

    The heat kernel on a half line, averaged over the width of a rank: the sum over ranks stays `step`.
    """
    x = np.asarray(distance, float)
    width = 2 * np.sqrt(rate * time)
    # 2 x the integral of the kernel from x to x + 1
    return step * (erfc(x / width) - erfc((x + 1) / width))


def diffusion_rates(rate: float, n: int, count: int) -> np.ndarray:
    """Decay rates of the slowest modes of an open bidirectional chain in the limit, 1/s (count,):
    D (pi k / n)^2 for k = 0 ... count - 1; of separate ranks D (2 - 2 cos(pi k / n))."""
    return rate * (np.pi * np.arange(count) / n) ** 2
