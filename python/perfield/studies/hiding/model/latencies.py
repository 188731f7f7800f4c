# SPDX-License-Identifier: BSD-3-Clause
"""How long messages of the model are under way: drawn under a congestion that comes and goes, or given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from perfield.studies.hiding.model.errors import HidingError

BLOCK = 512  # MatVecs whose latencies are in memory at once
NO_MESSAGE = -np.inf


@dataclass(frozen=True)
class Latency:
    """A lognormal latency of one message. median_s : s, 0 or more. sigma : of its logarithm, or 0."""

    median_s: float
    sigma: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.median_s < np.inf and 0 <= self.sigma < np.inf):
            raise HidingError(
                f"a latency of {self.median_s:g} s with sigma {self.sigma:g} makes no sense; give 0 or more."
            )


@dataclass(frozen=True)
class Congestion:
    """A state of the whole network, a Markov chain from MatVec to MatVec that begins without congestion.

    onset, ending : the probability per MatVec that it begins and ends. factor : by which it multiplies each
    median. sigma : of latencies then, instead of their own.
    """

    onset: float
    ending: float
    factor: float = 1.0
    sigma: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.onset <= 1 and 0 < self.ending <= 1):
            raise HidingError(
                f"congestion begins with probability {self.onset:g} and ends with {self.ending:g} per "
                "MatVec; give probabilities, the latter above 0."
            )
        if not (self.factor > 0 and self.sigma >= 0):
            raise HidingError(
                f"congestion of factor {self.factor:g} and sigma {self.sigma:g} makes no sense; give a "
                "factor above 0 and a sigma of 0 or more."
            )

    @property
    def share(self) -> float:
        """The share of MatVecs with congestion, in the long run."""
        return self.onset / (self.onset + self.ending)

    def states(self, n: int, random: np.random.Generator) -> np.ndarray:
        """Whether there is congestion, (n) bool."""
        chance, now, states = random.random(n), False, np.empty(n, bool)
        for k in range(n):
            states[k] = now
            now = chance[k] >= self.ending if now else chance[k] < self.onset
        return states


@dataclass(frozen=True)
class Drawn:
    """Latencies that are drawn for each message. into, out : those of input and of output."""

    into: Latency
    out: Latency
    congestion: Congestion | None = None

    def blocks(
        self, n_matvecs: int, present: tuple[np.ndarray, np.ndarray], seed: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Blocks of (into, out, congested): s, (n, n_ranks, n_slots), and (n) bool.

        present : which messages of input and output exist, (n_ranks, n_slots); others get NO_MESSAGE.
        """
        random = np.random.default_rng(seed)
        congested = np.zeros(n_matvecs, bool)
        if self.congestion is not None:
            congested = self.congestion.states(n_matvecs, random)
        for first in range(0, n_matvecs, BLOCK):
            here = congested[first : first + BLOCK]
            into, out = (
                self._drawn(kind, here, exists, random)
                for kind, exists in zip((self.into, self.out), present)
            )
            yield into, out, here

    def _drawn(
        self, kind: Latency, congested: np.ndarray, exists: np.ndarray, random: np.random.Generator
    ) -> np.ndarray:
        unit = random.standard_normal((len(congested), *exists.shape))
        of = self.congestion or Congestion(0, 1)
        sigma = np.where(congested, of.sigma, kind.sigma)[:, np.newaxis, np.newaxis]
        median = np.where(congested, of.factor, 1.0)[:, np.newaxis, np.newaxis] * kind.median_s
        return np.where(exists, median * np.exp(sigma * unit), NO_MESSAGE)


@dataclass(frozen=True)
class Trace:
    """Latencies that are given, such as those injected into a real run.

    into, out : s, (n_matvecs, n_ranks, n_slots) in the order of `neighbours`; NaN where no message comes.
    """

    into: np.ndarray
    out: np.ndarray

    def __post_init__(self) -> None:
        for name in ("into", "out"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), float))
        if self.into.ndim != 3 or self.into.shape != self.out.shape:
            raise HidingError(
                f"the trace has the shapes {self.into.shape} and {self.out.shape}; expected (n_matvecs, "
                "n_ranks, n_slots) twice."
            )
        if (self.into < 0).any() or (self.out < 0).any():
            raise HidingError("the trace has latencies below 0 s; give 0 or more, NaN where none comes.")

    def blocks(
        self, n_matvecs: int, present: tuple[np.ndarray, np.ndarray], seed: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """As those of `Drawn`. Raises HidingError where the trace is too short or of other ranks."""
        if len(self.into) < n_matvecs:
            raise HidingError(
                f"the trace holds latencies of {len(self.into):,} MatVecs, but {n_matvecs:,} are to run; "
                "give a longer trace, or run fewer."
            )
        if self.into.shape[1:] != present[0].shape:
            raise HidingError(
                f"the trace is of {self.into.shape[1]} ranks with {self.into.shape[2]} neighbours, but the "
                f"grid has {present[0].shape[0]} with {present[0].shape[1]}; give a trace of this grid."
            )
        for first in range(0, n_matvecs, BLOCK):
            last = min(first + BLOCK, n_matvecs)
            into, out = (
                np.where(exists & np.isfinite(whole[first:last]), whole[first:last], NO_MESSAGE)
                for whole, exists in zip((self.into, self.out), present)
            )
            yield into, out, np.zeros(last - first, bool)
