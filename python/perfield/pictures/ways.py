# SPDX-License-Identifier: BSD-3-Clause
"""What a message passes on its way: switches between nodes, or parts of one node."""

from __future__ import annotations

import numpy as np

from perfield.run.frame import UNKNOWN
from perfield.topology import Placement

from .lines import Pairs

COMMON = ("same_node", "same_package", "same_numa", "same_switch")
ANSWERS = ("no", "yes", "not known")
NOT_KNOWN = 2  # index in ANSWERS


def ways_of(pairs: Pairs, placement: Placement) -> dict[str, np.ndarray]:
    """What the ranks of each pair have in common, by array name, (n_pairs,) each.

    hops : float64, the switches on the way: 0 inside a node, 1 under one leaf switch; NaN if unknown.
    same_node, same_package, same_numa, same_switch : uint8, index in ANSWERS; not known if the peer is
        unknown, or if a rank may run on several packages or NUMA nodes. A rank has all in common with itself.
    """
    source, target = pairs.source, np.where(pairs.target == UNKNOWN, pairs.source, pairs.target)
    node, other = placement.node_id[source], placement.node_id[target]
    same_node = node == other
    of_node = placement.switches.of_node
    is_known = (of_node[node] >= 0) & (of_node[other] >= 0)
    common = (
        same_node,
        _same_part(placement.package_id, source, target, same_node),
        _same_part(placement.numa_id, source, target, same_node),
        np.where(same_node, 1, np.where(is_known, of_node[node] == of_node[other], NOT_KNOWN)),
    )
    peer_known = pairs.target != UNKNOWN
    hops = np.where(peer_known, placement.switches.hops(node, other), np.nan)
    return {"hops": hops} | {
        name: np.where(peer_known, values, NOT_KNOWN).astype(np.uint8) for name, values in zip(COMMON, common)
    }


def _same_part(part: np.ndarray, source: np.ndarray, target: np.ndarray, same_node: np.ndarray) -> np.ndarray:
    """Whether ranks run on the same part of a node. part : its number for each rank, NaN if unknown."""
    one, other = part[source], part[target]
    inside = np.where(np.isnan(one) | np.isnan(other), NOT_KNOWN, one == other)
    return np.where(source == target, 1, np.where(same_node, inside, 0))
