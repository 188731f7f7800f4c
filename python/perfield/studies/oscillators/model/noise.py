# SPDX-License-Identifier: BSD-3-Clause
"""Noise of oscillators (eq. 6 and beyond), the same for a seed whatever steps the solver takes.

Noise is constant for `hold` seconds and then drawn anew. Numbers come from Philox, keyed by (seed, number of
the hold, oscillator): they depend neither on the solver nor on how many oscillators there are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from perfield.studies.rhythm.model.errors import ModelError

KINDS = {
    "paper_uniform": "rate times (1 + size r), r in [0, 1): eq. 6; its mean also makes all faster",
    "zero_mean_uniform": "rate times (1 + size r), r in [-1, 1): the same amplitude, but mean 0",
    "ornstein_uhlenbeck": "adds omega times an Ornstein-Uhlenbeck process of standard deviation size",
    "white": "adds size dW: phases spread by size sqrt(t) rad, size in rad/sqrt(s)",
}
_LOW64 = (1 << 64) - 1
NOISE, DELAYS = 1, 2  # streams of one seed


def uniform(seed: int, stream: int, step: int, count: int) -> np.ndarray:
    """`count` numbers in [0, 1) of that step (any integer); number i is the same whatever the count."""
    counter = np.array([0, 0, 0, step & _LOW64], np.uint64)
    bits = np.random.Philox(counter=counter, key=np.array([seed & _LOW64, stream], np.uint64))
    return np.random.Generator(bits).random(count)


def normal(seed: int, stream: int, step: int, count: int) -> np.ndarray:
    """Like `uniform`, but of the standard normal distribution."""
    return ndtri(uniform(seed, stream, step, count) + 2.0**-54)


@dataclass(frozen=True)
class Noise:
    """zeta_i of eq. 2.

    kind : "paper_uniform", "zero_mean_uniform", "ornstein_uhlenbeck" or "white". size : 0 or more, a fraction
    of the rate; KINDS says more. hold : s, for which a number holds; hold h begins at h times `hold`.
    until : s, after which all noise ends. correlation : s, in which an Ornstein-Uhlenbeck process forgets.

    The rate in eq. 6 is on both sides; here the noise multiplies the rate without noise, as (1 + size r).
    The paper gives sizes from 1 % to 2000 %; its figures fit 2 % to 20 %.
    """

    kind: str = "paper_uniform"
    size: float = 0.05
    hold: float = 0.1
    until: float = np.inf
    correlation: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ModelError(f"the noise {self.kind!r} is unknown; choose one of {', '.join(KINDS)}.")
        if not (self.size >= 0 and np.isfinite(self.size)):
            raise ModelError(f"size = {self.size:g} makes no noise; give 0 or more (0.05 is 5 %).")
        for name in ("hold", "correlation"):
            value = getattr(self, name)
            if not (value > 0 and np.isfinite(value)):
                raise ModelError(f"{name} = {value:g} s makes no noise; give a time above 0.")
        if np.isnan(self.until):
            raise ModelError("until = nan is not a time; give the second after which noise ends, or inf.")

    def described(self) -> dict[str, object]:
        """All parameters, as JSON can hold them; until = None is for ever."""
        return {**dataclasses.asdict(self), "until": None if np.isinf(self.until) else self.until}

    def holds(self, seed: int, count: int, first: int) -> Iterator[tuple[np.ndarray | None, ...]]:
        """From hold `first` on, the pairs (factor, term), each (count,) or None.

        Rates become factor * rate + term: the term of white noise is in rad/s, that of an Ornstein-Uhlenbeck
        process a fraction of omega.
        """
        if self.kind == "ornstein_uhlenbeck":
            keep = np.exp(-self.hold / self.correlation)
            fresh = np.sqrt(1.0 - keep**2)
            state = np.zeros(count)
            # 37 correlation times forget the start to 1e-16, so a hold's value depends on its number only
            for step in range(first - int(np.ceil(37 * self.correlation / self.hold)), first):
                state = keep * state + fresh * normal(seed, NOISE, step, count)
        step = first
        while True:
            if self.kind == "white":
                yield None, self.size / np.sqrt(self.hold) * normal(seed, NOISE, step, count)
            elif self.kind == "ornstein_uhlenbeck":
                state = keep * state + fresh * normal(seed, NOISE, step, count)
                yield None, self.size * state
            else:
                drawn = uniform(seed, NOISE, step, count)
                yield 1.0 + self.size * (drawn if self.kind == "paper_uniform" else 2 * drawn - 1), None
            step += 1
