# SPDX-License-Identifier: BSD-3-Clause
"""Zooms into the machine: shows some nodes in full, and the nodes that they exchange most bytes with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfield.topology import Placement, with_nodes

if TYPE_CHECKING:
    from perfield.run import Frame

PARTNERS = 8  # nodes beside the chosen ones


@dataclass(frozen=True)
class Zoom:
    """A part of the machine.

    placement : the nodes of the chosen ranks and their partners, whole; other ranks have no place.
    words : what is shown, for people: "2 nodes, and the 8 that exchange most bytes with them, of 31".
    """

    placement: Placement
    words: str


def zoom(placement: Placement, chosen: np.ndarray, frames: Iterable[Frame]) -> Zoom:
    """Takes the nodes of some ranks, and the PARTNERS nodes that exchange most bytes with these ranks.

    chosen : bool (n_ranks,), at least one rank with a place. frames : those whose messages count.
    """
    n_nodes = len(placement.nodes)
    with_place = placement.node_id >= 0
    own = np.bincount(placement.node_id[chosen & with_place], minlength=n_nodes) > 0
    size = np.zeros(n_nodes)
    for frame in frames:
        messages = frame.messages
        ends = [messages[end] for end in ("source", "target")]
        known = [(end >= 0) & (end < len(chosen)) for end in ends]
        both = known[0] & known[1]
        ends = [end[both] for end in ends]
        weight = messages["bytes"][both].astype(float) + messages["count"][both]  # empty ones count, too
        for here, there in (ends, ends[::-1]):
            to = chosen[here] & with_place[there]
            size += np.bincount(placement.node_id[there[to]], weight[to], minlength=n_nodes)
    partners = np.flatnonzero((size > 0) & ~own)
    near = partners[np.argsort(-size[partners], kind="stable")[:PARTNERS]]
    shown = np.sort(np.concatenate([np.flatnonzero(own), near]))
    return Zoom(with_nodes(placement, shown), _words(int(own.sum()), len(near), len(partners)))


def _words(n_own: int, n_near: int, n_partners: int) -> str:
    own = "1 node" if n_own == 1 else f"{n_own:,} nodes"
    those = "it" if n_own == 1 else "them"
    if not n_partners:
        return f"{own}, exchanging messages with no other node"
    if n_partners == 1:
        return f"{own}, and the only one that exchanges messages with {those}"
    if n_near == n_partners:
        return f"{own}, and the {n_partners} that exchange messages with {those}"
    return f"{own}, and the {n_near} that exchange most bytes with {those}, of {n_partners:,}"
