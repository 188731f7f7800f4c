# SPDX-License-Identifier: BSD-3-Clause
"""Edges by where their ranks sit: on one package (socket), one node, under one switch, or further apart.

Weights T_ij, delays tau_ij and potentials V_ij may differ by these levels.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perfield.studies.rhythm.model.errors import ModelError
from perfield.studies.rhythm.model.topology import Topology
from perfield.text import did_you_mean, in_list, in_ranks

LEVELS = ("package", "node", "switch", "network")  # what joins the ranks of an edge, the nearest first


def levels_of(
    topology: Topology, node: np.ndarray, package: np.ndarray | None = None, switch: np.ndarray | None = None
) -> np.ndarray:
    """The nearest part of the machine that holds both ranks of each edge: an index in LEVELS, int64
    (n_edges,).

    node, package, switch : numbers (n,), negative or NaN where unknown, as in `perfield.topology.Placement`
    (`switch` is the one that the rank's node is attached to). Ranks of a node that are bound to several
    packages share the node; nodes without a known switch share the network.
    Raises ModelError if the node of a rank with edges is unknown.
    """
    lost = np.intersect1d(np.flatnonzero(~_known(node)), np.concatenate([topology.receiver, topology.sender]))
    if len(lost):
        raise ModelError(
            f"the node of {in_ranks(lost)} is unknown, so what joins it to others is unknown; leave such "
            "ranks out of the topology, or do not weigh edges by place."
        )
    level = np.full(topology.n_edges, LEVELS.index("network"))
    for name, numbers in (("switch", switch), ("node", node)):
        if numbers is not None:
            level[in_same(topology, numbers)] = LEVELS.index(name)
    if package is not None:
        level[in_same(topology, node) & in_same(topology, package)] = LEVELS.index("package")
    return level


def by_level(levels: np.ndarray, values: Mapping[str, float]) -> np.ndarray:
    """A value for each edge, float64 (n_edges,), from one for each of LEVELS that occurs.

    `topology.weighted(topology.weight * by_level(...))` weighs edges; a Model's `delay` takes it as it is.
    """
    for name in values:
        if name not in LEVELS:
            asked = did_you_mean(name, LEVELS)
            raise ModelError(
                f"{name!r} is not a level; the levels are {in_list(LEVELS, 4)}.{' ' + asked if asked else ''}"
            )
    for number in np.unique(levels):
        if LEVELS[number] not in values:
            count = int((levels == number).sum())
            raise ModelError(
                f"{count} of {len(levels)} edges join ranks of one {LEVELS[number]}, but there are values "
                f"for {in_list(list(values), 4) or 'no level'} only; give one for {LEVELS[number]!r}, too."
            )
    return np.array([values.get(name, np.nan) for name in LEVELS])[levels]


def in_same(topology: Topology, numbers: np.ndarray) -> np.ndarray:
    """Whether both ranks of each edge have the same number, bool (n_edges,); False where it is unknown.

    numbers : (n,), of a part of the machine; negative or NaN where unknown.
    """
    numbers = np.asarray(numbers)
    return (numbers[topology.receiver] == numbers[topology.sender]) & _known(numbers)[topology.receiver]


def _known(numbers: np.ndarray) -> np.ndarray:
    return np.isfinite(numbers) & (np.asarray(numbers) >= 0)
