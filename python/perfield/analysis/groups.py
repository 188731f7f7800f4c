# SPDX-License-Identifier: BSD-3-Clause
"""Groups of ranks that compute longer than all others, although perhaps no rank of them stands out: at an
end of the mesh, of one colour of a checkerboard, at one place of every node, every so many ranks, or with
one value of the user's own attribute.

The tests use no random numbers, so the same run always gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, lgamma

import numpy as np

from perfield.analysis.chance import chance_of_mean
from perfield.analysis.distributions import hypergeometric_tail
from perfield.analysis.observed import Observed, once

CHANCE = 0.001  # of one false group per run, as for names of ranks
SLOWER = 1.05  # than the others; less is not reported
AS_MUCH = 0.8  # of a group must be among as many costliest ranks
FEWEST = 2  # ranks of a group, and of the others
LONGEST_STRIDE = 64
TRIMMED = 0.25  # of the steps at each end, so that single interruptions do not count
CLOSE = 1e-3  # of the mesh's size: so near to its end a piece touches it


@dataclass(frozen=True)
class Group:
    """Ranks with something in common that compute longer than the others.

    kind : "own", "mesh", "machine" or "numbers": of what they have in common. words : "8 ranks at the low end
    of x". columns : theirs. times : what they compute, over what the others do. n_longer : rows in which they
    compute longer on average. chance : that so many of the costliest ranks are in this group by chance.
    """

    kind: str
    words: str
    columns: np.ndarray
    times: float
    n_longer: int
    chance: float


def group_of(observed: Observed, compute: np.ndarray) -> Group | None:
    """The group that explains most of what ranks differ by, among those beyond chance; None without one.

    compute : float64 (n_rows, n_columns), s. Of the k costliest ranks, so many are in a group of k: the
    hypergeometric chance, times the number of groups whose chance could be so small (Tarone, Biometrics 46,
    1990); strides have one half of the level, all others the other. It holds whatever ranks cost, as long as
    that has nothing to do with the group. Besides, the members' mean must be above the others' by more than
    chance over the rows (`chance_of_mean`), if the run has several.

    tests/analysis/test_groups.py shows the size (of 10,000 simulated runs each, 11 at most; noise that is
    clean, with tails, lasting, interrupted, or beside ranks that differ anyway) and the power: 6 or 8 of 48
    ranks, or 8 of 16, that compute 1.2 times as long with 5 % noise, or 1.5 times with 20 %, are found in 95
    % of runs of ten steps.
    """
    mean_s = compute.mean(axis=1)
    rows = compute[mean_s > 0] / mean_s[mean_s > 0, None]
    n = compute.shape[1]
    if not len(rows) or n < 2 * FEWEST:
        return None
    cost = _trimmed(rows)
    place = np.empty(n, np.int64)
    place[np.argsort(cost, kind="stable")] = np.arange(n)
    best, most = None, 0.0
    for kind, words, members, n_tried in candidates(observed):
        size = int(members.sum())
        hits = int(np.count_nonzero(place[members] >= n - size))
        if hits < AS_MUCH * size:
            continue
        chance = hypergeometric_tail(hits, n, size) * n_tried
        own, others = cost[members].mean(), cost[~members].mean()
        between = size * (n - size) / n * (own - others) ** 2
        if chance > CHANCE or own < SLOWER * others or between <= most:
            continue
        inside, outside = rows[:, members].mean(axis=1), rows[:, ~members].mean(axis=1)
        if len(rows) > 1 and chance_of_mean(inside - outside) > CHANCE:
            continue
        n_longer = int((inside > outside).sum())
        best, most = Group(kind, words, np.flatnonzero(members), own / others, n_longer, chance), between
    return best


def visible_excess(observed: Observed, compute: np.ndarray) -> float:
    """How much longer than the others a group must compute to be found, relative; infinite where the ranks
    are too few, or steps allow no test. All its ranks are then costlier than all others."""
    n = compute.shape[1]
    if not candidates(observed):
        return np.inf
    mean_s = compute.mean(axis=1)
    rows = compute[mean_s > 0] / mean_s[mean_s > 0, None]
    cost = _trimmed(rows) if len(rows) else np.zeros(n)
    return float(cost.max() / cost.min() - 1) if cost.min() > 0 else np.inf


def _trimmed(rows: np.ndarray) -> np.ndarray:
    """The mean of each column without its lowest and highest values."""
    cut = int(TRIMMED * len(rows))
    return np.sort(rows, axis=0)[cut : len(rows) - cut].mean(axis=0)


@once
def candidates(observed: Observed) -> list[tuple[str, str, np.ndarray, int]]:
    """Groups that can be beyond chance: kind, words, members, bool (n_columns,), and how many share the
    level. Each set of ranks comes once, under its first name."""
    n, seen, strides, others = len(observed.ranks), set(), [], []
    for kind, words, members in _named(observed):
        size, key = int(members.sum()), members.tobytes()
        if FEWEST <= size <= n - FEWEST and key not in seen:
            seen.add(key)
            least = exp(lgamma(size + 1) + lgamma(n - size + 1) - lgamma(n + 1))  # all of them
            (strides if kind == "numbers" else others).append((least, kind, f"{size:,} {words}", members))
    found = []
    for family in (others, strides):
        family.sort(key=lambda one: one[0])
        n_tried = max((k for k in range(1, len(family) + 1) if _can(family[k - 1][0], k)), default=0)
        found += [(*one[1:], 2 * n_tried) for one in family if n_tried and _can(one[0], n_tried)]
    return found


def untested(observed: Observed) -> list[str]:
    """The user's attributes of which no value can be told from chance: too few share one, or lack it."""
    tested = {members.tobytes() for _, _, members, _ in candidates(observed)}
    return [
        name
        for name in observed.attributes
        if not any(members.tobytes() in tested for members in _with_values(observed, name).values())
    ]


def _named(observed: Observed) -> Iterator[tuple[str, str, np.ndarray]]:
    """All groups: kind, words and members, the user's own first."""
    for name in observed.attributes:
        for value, members in _with_values(observed, name).items():
            yield "own", f"ranks whose {name} is {value}", members
    yield from _in_mesh(observed)
    yield from _in_machine(observed)
    yield from _strides(observed)


def _with_values(observed: Observed, name: str) -> dict[str, np.ndarray]:
    """The members of each value of an attribute."""
    values = observed.attributes[name][observed.ranks]
    return {value: values == value for value in np.unique(values[values != ""]).tolist()}


def _can(least: float, n_tried: int) -> bool:
    """Whether the least chance that a group can have is enough if so many are tried."""
    return least * 2 * n_tried <= CHANCE


def _in_mesh(observed: Observed) -> Iterator[tuple[str, str, np.ndarray]]:
    """Groups by where pieces of the mesh lie: at its ends, and the colours of a checkerboard."""
    if observed.boxes is None:
        return
    low, high = observed.boxes[observed.ranks].transpose(1, 0, 2)
    if not np.isfinite(low).all() or not np.isfinite(high).all():
        return
    begin, end = low.min(axis=0), high.max(axis=0)
    near = CLOSE * (end - begin)
    at_low, at_high = low <= begin + near, high >= end - near
    for axis, name in enumerate("xyz"):
        if not (at_low[:, axis] & at_high[:, axis]).all():
            yield "mesh", f"ranks at the low end of {name}", at_low[:, axis]
            yield "mesh", f"ranks at the high end of {name}", at_high[:, axis]
    is_flat = (at_low & at_high).all(axis=0)
    outside = ((at_low | at_high) & ~is_flat).any(axis=1)
    yield "mesh", "ranks at the outer sides of the mesh", outside
    yield "mesh", "ranks inside the mesh, away from its outer sides", ~outside
    number = _numbers_in_grid((low + high) / 2, near)
    if number is not None:
        is_odd = number.sum(axis=1) % 2 == 1
        yield "mesh", "ranks of one colour of a checkerboard of pieces (with the first)", ~is_odd
        yield "mesh", "ranks of one colour of a checkerboard of pieces (without the first)", is_odd


def _numbers_in_grid(middle: np.ndarray, near: np.ndarray) -> np.ndarray | None:
    """The place of each piece along each axis, int (n, 3), if pieces are arranged as a grid; else None."""
    numbers = []
    for axis in range(3):
        order = np.argsort(middle[:, axis])
        steps = np.diff(middle[order, axis], prepend=middle[order[0], axis]) > near[axis]
        number = np.empty(len(middle), np.int64)
        number[order] = np.cumsum(steps)
        numbers.append(number)
    found = np.stack(numbers, axis=1)
    is_grid = np.prod(found.max(axis=0) + 1) == len(found) and len(np.unique(found, axis=0)) == len(found)
    return found if is_grid and (found.max(axis=0) > 0).sum() > 1 else None


def _in_machine(observed: Observed) -> Iterator[tuple[str, str, np.ndarray]]:
    """Groups by where ranks sit in their nodes. Nodes themselves are another question."""
    if observed.placement is None:
        return
    node = observed.placement.node_id[observed.ranks]
    position = _position(node)
    size = np.bincount(node[node >= 0], minlength=1)[node]
    last = position == size - 1
    if len(np.unique(node)) > 1:
        yield "machine", "first ranks of their nodes", position == 0
        for place in range(1, int(position.max(initial=0)) + 1):
            words = f"ranks that are number {place + 1} of their nodes, counted from 1"
            yield "machine", words, (position == place) & ~last
        yield "machine", "last ranks of their nodes", last
    for name, word in (("package", "package"), ("numa", "NUMA node"), ("core", "core")):
        number = getattr(observed.placement, f"{name}_id")[observed.ranks]
        for one in np.unique(number[np.isfinite(number)]):
            yield "machine", f"ranks on {word} {one:.0f} of their nodes", number == one


def _strides(observed: Observed) -> Iterator[tuple[str, str, np.ndarray]]:
    """Every k-th rank."""
    for stride in range(2, min(LONGEST_STRIDE, len(observed.ranks) // 2) + 1):
        for first in range(stride):
            words = f"ranks that are one in {stride}, from rank {first} on"
            yield "numbers", words, observed.ranks % stride == first


def _position(node: np.ndarray) -> np.ndarray:
    """How many ranks before each one sit on its node."""
    order = np.argsort(node, kind="stable")
    begin = np.searchsorted(node[order], node[order])
    position = np.empty(len(node), np.int64)
    position[order] = np.arange(len(node)) - begin
    return position
