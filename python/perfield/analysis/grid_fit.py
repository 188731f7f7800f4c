# SPDX-License-Identifier: BSD-3-Clause
"""Finds the Cartesian grid of ranks that explains who sends messages to whom, if one does.

In a halo exchange what two ranks exchange depends on their offset in the grid alone: through a face, an edge
or a corner. So each grid of as many ranks is a model with one mean for each kind of offset, and nothing
between ranks farther apart. The grid that leaves the least variance counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

LEAST_EXPLAINED = 0.75  # of the variance over pairs; below it the ranks are in no grid
MOST_RANKS = 1 << 20


@dataclass(frozen=True)
class GridFit:
    """dims : lengths of the axes, 2 or more; ranks count along the first one first. periodic : of each axis.
    share : of the bytes that pass between neighbours across a face."""

    dims: tuple[int, ...]
    periodic: tuple[bool, ...]
    share: float

    def coordinates(self) -> np.ndarray:
        """Coordinates of the ranks, int64 (n_ranks, n_axes)."""
        return np.stack(np.unravel_index(np.arange(prod(self.dims)), self.dims, order="F"), axis=1)


def grid_fit(n_ranks: int, low: np.ndarray, high: np.ndarray, amount: np.ndarray) -> GridFit | None:
    """The grid of up to three axes that fits best; None if none explains LEAST_EXPLAINED.

    low, high : (n_pairs,) ranks, low < high, each pair once. amount : (n_pairs,) > 0, of bytes, say.
    A ring alone is no such grid: nothing would show that its ends meet.
    """
    n_pairs = n_ranks * (n_ranks - 1) / 2
    if n_pairs < 3 or n_ranks > MOST_RANKS or not len(low):
        return None
    weight = np.sqrt(amount)  # an axis with small faces is an axis, too
    total = (weight**2).sum()
    variance = total - weight.sum() ** 2 / n_pairs
    if variance <= 1e-9 * total:
        return None
    best: tuple[float, GridFit] | None = None
    for dims, periodic in _grids(n_ranks):
        kinds = 2 ** len(dims) - 1
        if n_pairs <= kinds + 1:
            continue
        kind = _kinds(low, high, dims, periodic)
        sums = np.bincount(kind[kind >= 0], weight[kind >= 0], kinds + 1)
        counts = np.array([_pairs_of_kind(number, dims, periodic) for number in range(kinds + 1)])
        means = sums[1:] / counts[1:]
        if not _is_halo(means):
            continue
        left = max(total - (sums[1:] * means).sum(), 0.0) / (n_pairs - 1 - kinds)
        explained = 1 - left / (variance / (n_pairs - 1))
        if explained >= LEAST_EXPLAINED and (best is None or explained > best[0] + 1e-6):
            faces = np.isin(kind, 2 ** np.arange(len(dims)))
            best = explained, GridFit(dims, periodic, float(amount[faces].sum() / amount.sum()))
    return best[1] if best else None


def _grids(n_ranks: int) -> Iterator[tuple[tuple[int, ...], tuple[bool, ...]]]:
    """Lengths of axes and which are periodic, those with fewer axes and fewer periodic ones first."""
    divisors = [one for one in range(2, n_ranks) if n_ranks % one == 0]
    yield (n_ranks,), (False,)
    grids = [(one, n_ranks // one) for one in divisors]
    for one in divisors:
        rest = n_ranks // one
        grids += [(one, two, rest // two) for two in divisors if two < rest and rest % two == 0]
    for dims in grids:
        closed = product(*((False, True) if length > 2 else (False,) for length in dims))
        yield from ((dims, periodic) for periodic in sorted(closed, key=sum))


def _kinds(low: np.ndarray, high: np.ndarray, dims: Sequence[int], periodic: Sequence[bool]) -> np.ndarray:
    """The kind of each pair: the sum of 2**axis over the axes along which they are 1 apart; -1 if farther."""
    kind = np.zeros(len(low), np.int64)
    near = np.ones(len(low), bool)
    for axis, (length, is_periodic) in enumerate(zip(dims, periodic)):
        apart = np.abs(high % length - low % length)
        if is_periodic:
            apart = np.minimum(apart, length - apart)
        near &= apart <= 1
        kind += (apart == 1) << axis
        low, high = low // length, high // length
    return np.where(near, kind, -1)


def _pairs_of_kind(kind: int, dims: Sequence[int], periodic: Sequence[bool]) -> int:
    """How many pairs of a grid are of a kind."""
    ways, n_pairs = 0, 1
    for axis, (length, is_periodic) in enumerate(zip(dims, periodic)):
        is_apart = kind >> axis & 1
        ways += is_apart
        n_pairs *= length - 1 + is_periodic if is_apart else length
    return n_pairs * 2 ** max(ways - 1, 0)


def _is_halo(means: np.ndarray) -> bool:
    """Whether ranks exchange something across each kind of face, and no more across its edges and corners.

    means : of kinds 1, 2, ...
    """
    kinds = np.arange(1, len(means) + 1)
    for axis in range(len(means).bit_length()):
        with_axis = means[(kinds >> axis & 1) == 1]
        if not with_axis[0] > 0 or with_axis[0] < with_axis[1:].max(initial=0.0):
            return False
    return True
