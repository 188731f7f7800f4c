# SPDX-License-Identifier: BSD-3-Clause
"""Hidden states fitted to times: starts, the best of them, and which states form one regime.

The core is perfield's own, for all emissions. hmmlearn has no Student's t, knows no unknown times, and finds
a scale of 2.2 ms instead of 0.05 ms unless times in seconds are standardised; tests compare both.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from perfield._bridge import HiddenMarkov
from perfield.studies.regimes.model.model import Model

MAX_ITERATIONS = 300
MAX_STATES = 8  # of the compiled core
LONG = 40_000  # times: starts are first tried on a part of more
KEPT_STARTS, ROUGH = 2, 1e-4  # of log-likelihood per time
MEMORY = 0.5  # below that, two neighbouring states are one regime


@dataclass(frozen=True)
class Start:
    """What all fits of one series share: the times, the emission, and how many starts are tried."""

    values: np.ndarray  # (n_ranks, n_steps) in seconds, NaN where unknown
    emission: str
    dof: float | None
    n_starts: int
    seed: int
    has_memory: bool
    min_scale: float
    has_ticks: bool  # whether min_scale is that of a coarse clock

    @property
    def is_log(self) -> bool:
        """Whether the states are of the logarithm of times."""
        return self.emission != "gaussian"


@dataclass(frozen=True)
class States:
    """Fitted states in the order of their mean times, and how the fit ended."""

    hidden: HiddenMarkov
    share: np.ndarray
    log_likelihood: float
    n_iterations: int
    has_converged: bool

    @property
    def n(self) -> int:
        """How many states there are."""
        return len(self.share)


def fitted(start: Start, n_states: int) -> States:
    """The likeliest of several fits: one from quantiles, the others from random cuts of the same order.

    Each start is first followed roughly, in long series on evenly spread blocks alone. The likeliest
    KEPT_STARTS different ends are followed with all times.
    """
    some = np.sort(start.values[np.isfinite(start.values)])
    some = np.log(some) if start.is_log else some
    random = np.random.default_rng([start.seed, n_states])
    cuts = [np.arange(1, n_states) / n_states]
    if n_states > 1:
        cuts += [np.sort(random.random(n_states - 1)) for _ in range(start.n_starts - 1)]
    firsts = [_first(start, some, at) for at in cuts]
    if len(firsts) > KEPT_STARTS:
        part = blocks(start.values, 8) if len(some) > LONG else start.values
        count = int(np.isfinite(part).sum())
        tried = sorted(_ends(start, firsts, part, ROUGH * count), key=lambda end: -end[1])
        other = [tried[0]]  # ends of another likelihood: the same optimum is not climbed twice
        other += [one for last, one in zip(tried, tried[1:]) if last[1] - one[1] > 10 * ROUGH * count]
        firsts = [end[0] for end in other[:KEPT_STARTS]]
    ends = _ends(start, firsts, start.values, min(1.0, 1e-5 * len(some)))
    hidden, likelihood, n_iterations, converged = max(ends, key=lambda end: end[1])
    hidden, share = _in_order(start, hidden)
    return States(hidden, share, likelihood, n_iterations, converged)


def _ends(
    start: Start, firsts: list[HiddenMarkov], values: np.ndarray, tolerance: float
) -> list[tuple[HiddenMarkov, float, int, bool]]:
    """How each fit ends; they run side by side."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(
            pool.map(
                lambda one: one.fit(values, MAX_ITERATIONS, tolerance, start.min_scale, start.has_memory),
                firsts,
            )
        )


def blocks(values: np.ndarray, part: int, n_blocks: int = 8) -> np.ndarray:
    """Evenly spread blocks of steps, 1/part of all, with NaN between them."""
    n_steps = values.shape[1]
    length = max(n_steps // (part * n_blocks), 1)
    begins = np.linspace(0, n_steps - length, n_blocks).astype(np.int64)
    gap = np.full((len(values), 1), np.nan)
    return np.hstack([piece for begin in begins for piece in (values[:, begin : begin + length], gap)])


def _first(start: Start, some: np.ndarray, cuts: np.ndarray) -> HiddenMarkov:
    """A model to start from: the values between neighbouring cuts (shares of all) are one state each."""
    edges = np.r_[0, np.round(cuts * len(some)).astype(np.int64), len(some)]
    parts = [some[max(0, min(a, len(some) - 2)) : max(b, a + 2)] for a, b in zip(edges[:-1], edges[1:])]
    share = np.maximum(np.diff(edges), 1) / np.maximum(np.diff(edges), 1).sum()
    n = len(parts)
    stay = 0.9 if start.has_memory else 0.0
    return HiddenMarkov(
        start.is_log,
        start.dof or 0.0,
        [np.median(part) for part in parts],
        [max(np.std(part), start.min_scale) for part in parts],
        share,
        stay * np.eye(n) + (1 - stay) * share,
    )


def _in_order(start: Start, hidden: HiddenMarkov) -> tuple[HiddenMarkov, np.ndarray]:
    """The states in the order of the mean times classified as theirs, and their shares of the times."""
    path, n = hidden.decode(start.values), len(hidden.location)
    at = path >= 0
    count = np.bincount(path[at], minlength=n)
    total = np.bincount(path[at], weights=start.values[at], minlength=n)
    centre = np.exp(hidden.location) if start.is_log else hidden.location
    mean = np.where(count > 0, total / np.maximum(count, 1), centre)
    order = np.lexsort((hidden.scale, mean))
    return reordered(start, hidden, order), count[order] / count.sum()


def reordered(start: Start, hidden: HiddenMarkov, order: np.ndarray) -> HiddenMarkov:
    """A model of these states, in this order."""
    begin, transition = hidden.start[order], hidden.transition[np.ix_(order, order)]
    return HiddenMarkov(
        start.is_log,
        start.dof or 0.0,
        hidden.location[order],
        hidden.scale[order],
        begin / begin.sum(),
        transition / transition.sum(axis=1, keepdims=True),
    )


def memory(transition: np.ndarray) -> np.ndarray:
    """(n - 1) how much neighbouring states have a memory of their own, from -1 to 1.

    Given that the chain stays among states i and i + 1: the probability to be in i after i, less that after
    i + 1. It is 0 if the two only shape one distribution, such as the core and the tail of one regime, and
    near 1 if each of them lasts.
    """
    near, far = np.diag(transition)[:-1], np.diag(transition)[1:]
    up, down = np.diag(transition, 1), np.diag(transition, -1)
    with np.errstate(invalid="ignore"):
        found = near / (near + up) - down / (down + far)
    return np.where(np.isfinite(found), found, 0.0)


def merged(hidden: HiddenMarkov, share: np.ndarray, n_regimes: int | None = None) -> np.ndarray:
    """(n) the regime of each state: neighbours without memory are merged, down to n_regimes if given."""
    transition, weight = hidden.transition, np.maximum(share, 1e-12)
    groups = [[state] for state in range(len(weight))]
    while len(groups) > 1:
        between = memory(transition)
        least = int(np.argmin(between))
        if len(groups) <= n_regimes if n_regimes else between[least] >= MEMORY:
            break
        transition, weight = _joined(transition, weight, least)
        groups[least : least + 2] = [groups[least] + groups[least + 1]]
    regime = np.empty(len(share), dtype=np.int64)
    for number, members in enumerate(groups):
        regime[members] = number
    return regime


def lumped(hidden: HiddenMarkov, share: np.ndarray, regime: np.ndarray) -> np.ndarray:
    """(n_regimes, n_regimes) the transition matrix of regimes, whose states lie side by side."""
    transition, weight, left = hidden.transition, np.maximum(share, 1e-12), list(regime)
    while len(left) > regime.max() + 1:
        first = next(place for place in range(len(left)) if left[place] == left[place + 1])
        transition, weight = _joined(transition, weight, first)
        del left[first]
    return transition


def _joined(transition: np.ndarray, weight: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
    """The chain with a state and its neighbour as one, which is left as they are by their shares."""
    pair = slice(first, first + 2)
    row = np.average(transition[pair], axis=0, weights=weight[pair])
    rows = np.vstack([transition[:first], row, transition[first + 2 :]])
    both = rows[:, pair].sum(axis=1, keepdims=True)
    joined = np.hstack([rows[:, :first], both, rows[:, first + 2 :]])
    return joined, np.r_[weight[:first], weight[pair].sum(), weight[first + 2 :]]


def model_of(start: Start, found: States, regime: np.ndarray, field: str, notes: tuple[str, ...]) -> Model:
    """The states as a Model.

    Its start is the share of times in each state: the fitted start only holds the first states of the sampled
    series, and says nothing of other series, or of steps behind a gap.
    """
    hidden = found.hidden
    return Model(
        emission=start.emission,
        location=hidden.location,
        scale=hidden.scale,
        dof=start.dof,
        start=found.share,
        transition=hidden.transition,
        regime=regime,
        field=field,
        notes=notes,
    )
