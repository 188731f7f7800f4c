# SPDX-License-Identifier: BSD-3-Clause
"""Finds nodes, switches and ranks by name, and takes a part of the nodes out of a placement."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from .network import Network, Switches, used_switches
from .placement import Placement


class SelectionError(ValueError):
    """A name means no node, switch or rank of the run; the text says which, and what there is."""


def select(placement: Placement, names: Iterable[str]) -> np.ndarray:
    """The ranks that some names mean, bool (n_ranks,).

    names : each a node (its host name, whole or short), a switch (all ranks below it), a rank ("12") or a
    range of ranks ("4-7"). Where a node or switch is called like a rank, the node or switch is meant.

    Raises SelectionError for other names.
    """
    chosen = np.zeros(placement.n_ranks, bool)
    for name in names:
        nodes = _nodes(placement, name)
        if len(nodes):
            chosen |= np.isin(placement.node_id, nodes)
        else:
            first, last = _ranks(placement, name)
            chosen[first : last + 1] = True
    return chosen


def with_nodes(placement: Placement, nodes: Sequence[int]) -> Placement:
    """The placement of the ranks on some nodes, which are numbered anew in their order; others have no place.

    nodes : ascending indices in placement.nodes. Only the switches that these nodes use are left.
    """
    number = np.full(len(placement.nodes) + 1, -1, np.int32)  # the last one is for ranks without a place
    number[list(nodes)] = np.arange(len(nodes))
    node_id = number[placement.node_id]
    gone = node_id < 0
    return replace(
        placement,
        nodes=tuple(placement.nodes[node] for node in nodes),
        node_id=node_id,
        binding=np.where(gone, -1, placement.binding).astype(np.int32),
        n_pus=np.where(gone, 0, placement.n_pus).astype(np.int32),
        movable=placement.movable & ~gone,
        switches=_between(placement.switches, nodes),
    )


def _nodes(placement: Placement, name: str) -> np.ndarray:
    """The nodes that a node's or a switch's name means; empty if it is neither."""
    found = [
        n
        for n, node in enumerate(placement.nodes)
        if name in (node.label, *node.hosts, *(host.partition(".")[0] for host in node.hosts))
    ]
    if found:
        return np.array(found)
    switches = placement.switches
    below = np.array([own == name for own in switches.name], bool)
    for _ in switches.name:
        more = below.copy()
        more[switches.links[below[switches.links[:, 1]], 0]] = True
        if (more == below).all():
            break
        below = more
    return np.flatnonzero(np.append(below, False)[switches.of_node])


def _ranks(placement: Placement, name: str) -> tuple[int, int]:
    """The first and the last rank that a number or a range means. Raises SelectionError for other names."""
    match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", name)
    if match is None:
        known = [*(node.label for node in placement.nodes), *placement.switches.name]
        near = difflib.get_close_matches(name, known, 1)
        advice = f"did you mean {near[0]}?" if near else f"names are {_some(known)}."
        raise SelectionError(
            f"'{name}' is no node, switch or rank of this run; {advice} Ranks are given as 12 or 4-7."
        )
    first, last = int(match[1]), int(match[2] or match[1])
    if not first <= last < placement.n_ranks:
        raise SelectionError(
            f"'{name}' is not a rank or range of ranks of this run, which has ranks 0 to "
            f"{placement.n_ranks - 1}; give 12 or 4-7."
        )
    return first, last


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4:,} more" if len(names) > 4 else "")


def _between(switches: Switches, nodes: Sequence[int]) -> Switches:
    """The switches that some nodes use, with their numbers in the whole network."""
    hosts = [str(node) for node in nodes]
    leaf_of = {host: int(leaf) for host, leaf in zip(hosts, switches.of_node[list(nodes)]) if leaf >= 0}
    network = Network(switches.name, tuple(map(tuple, switches.links.tolist())), leaf_of, switches.source)
    part = used_switches(network, hosts)
    return replace(part, id=switches.id[part.id], level=switches.level[part.id], notes=switches.notes)
