# SPDX-License-Identifier: BSD-3-Clause
"""The switches of a cluster, and the part of them that one run uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

_FARTHEST = 256  # links between two switches; what lies farther apart is taken for not connected
_LEAVES_AT_A_TIME = 1024  # bounds the memory of distances


class NetworkError(ValueError):
    """The description of a network is unusable; the text says what is wrong, where, and what to do."""


@dataclass(frozen=True)
class Network:
    """The switches of a cluster, as a file or the ranks themselves describe them.

    names : of the switches; a switch's number (`id`) is its index.
    links : (lower switch, upper switch) of each pair of connected switches; equal links count once.
    leaf_of : the number of the switch that each host is attached to. A host on several switches has the
        first of them.
    source : where this is known from, for sentences: "topology.conf", "SLURM_TOPOLOGY_ADDR".
    notes : sentences about what was missing or contradictory.
    tree : False if it is unknown which end of a link is the lower one, as in a fabric that was discovered.
        A switch's level then is its distance from the switches of the run's nodes.
    """

    names: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    leaf_of: Mapping[str, int]
    source: str = ""
    notes: tuple[str, ...] = ()
    tree: bool = True

    def leaf(self, host: str) -> int:
        """The switch of a host, -1 if unknown: by its whole name, else by its name without the domain.

        A short name also finds a host with a domain, if only one host has that short name.
        """
        short, dot, _ = host.partition(".")
        for name in (host, short):
            if name in self.leaf_of:
                return self.leaf_of[name]
        return -1 if dot else self._leaf_of_short.get(host, -1)

    @cached_property
    def _leaf_of_short(self) -> dict[str, int]:
        """The switches of hosts with a domain by their short names, -1 where several hosts share one."""
        found: dict[str, int] = {}
        for host, leaf in self.leaf_of.items():
            short, dot, _ = host.partition(".")
            if dot:
                found[short] = -1 if short in found else leaf
        return found

    def with_notes(self, notes: tuple[str, ...]) -> Network:
        """The same network with more notes, these first."""
        return replace(self, notes=notes + self.notes) if notes else self


@dataclass(frozen=True)
class Switches:
    """The switches that a run uses: those on a shortest way between two of its nodes, or above one node.

    name : of each switch. id : int32 (n_switches,), its number in the whole network.
    level : int32 (n_switches,), one above the highest switch below it, 0 if there is none. In a network that
        is no tree: its distance from the nearest switch with nodes.
    links : int32 (n_links, 2), lower and upper switch, as indices in here.
    of_node : int32 (n_nodes,), the switch of each node of the run; -1 where none is known.
    source : where this is known from, "" if nowhere. notes : sentences about what is missing.
    """

    name: tuple[str, ...]
    id: np.ndarray
    level: np.ndarray
    links: np.ndarray
    of_node: np.ndarray
    source: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def unknown(cls, n_nodes: int) -> Switches:
        """No switch is known, for any node."""
        nothing = np.zeros(0, np.int32)
        return cls((), nothing, nothing, nothing.reshape(0, 2), np.full(n_nodes, -1, np.int32))

    def hops(self, from_node: np.ndarray, to_node: np.ndarray) -> np.ndarray:
        """How many switches a message passes between nodes, float64 in the common shape of both numbers.

        0 inside a node, 1 under the same switch; NaN where the way is not known.
        """
        one, other = np.broadcast_arrays(self.of_node[from_node], self.of_node[to_node])
        hops = np.full(np.shape(one), np.nan)
        known = (one >= 0) & (other >= 0)
        rows = self._row_of_leaf[one[known]]
        hops[known] = 1.0 + self._steps[rows, other[known]]
        hops[np.asarray(from_node) == np.asarray(to_node)] = 0.0
        return np.where(np.isinf(hops), np.nan, hops)

    @cached_property
    def _leaves(self) -> np.ndarray:
        return np.unique(self.of_node[self.of_node >= 0])

    @cached_property
    def _row_of_leaf(self) -> np.ndarray:
        row = np.full(len(self.name), -1)
        row[self._leaves] = np.arange(len(self._leaves))
        return row

    @cached_property
    def _steps(self) -> np.ndarray:
        """Links between each switch with nodes and each switch, float64 (n_leaves, n_switches)."""
        return _steps(len(self.name), self.links, self._leaves)


def used_switches(network: Network, hosts: Sequence[str]) -> Switches:
    """The switches that the nodes of a run use. hosts : the host name of each node."""
    of_node = np.array([network.leaf(host) for host in hosts], np.int64).reshape(-1)
    leaves = np.unique(of_node[of_node >= 0])
    links = np.array(sorted(set(network.links)), np.int64).reshape(-1, 2)
    used = _on_shortest_ways(len(network.names), links, leaves)
    ids = np.flatnonzero(used)
    number = np.full(len(network.names) + 1, -1, np.int32)
    number[ids] = np.arange(len(ids))
    links = number[links[used[links].all(axis=1)]]
    missing = [host for host, leaf in zip(hosts, of_node) if leaf < 0]
    notes = network.notes
    if missing and network.leaf_of:
        some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        notes += (
            f"no switch of {some} is known from {network.source} ({len(missing)} of {len(hosts)} nodes); "
            "these are without one.",
        )
    if network.tree:
        level = _levels(len(ids), links)
    else:
        level = _distances(len(ids), links, np.unique(number[of_node[of_node >= 0]]))
        links = np.where((level[links[:, 0]] > level[links[:, 1]])[:, None], links[:, ::-1], links)
    names = tuple(network.names[i] for i in ids)
    return Switches(
        names,
        ids.astype(np.int32),
        level,
        links.astype(np.int32).reshape(-1, 2),
        number[of_node],
        network.source,
        notes,
    )


def _on_shortest_ways(n_switches: int, links: np.ndarray, leaves: np.ndarray) -> np.ndarray:
    """Which switches lie on a shortest way between two leaves, or are one, bool (n_switches,)."""
    used = np.zeros(n_switches, bool)
    if not len(leaves):
        return used
    beside = _Beside(n_switches, links)
    for some in np.array_split(leaves, -(-len(leaves) // _LEAVES_AT_A_TIME)):
        steps = _steps(n_switches, links, some)
        on_way = np.zeros(steps.shape, bool)
        on_way[:, leaves] = np.isfinite(steps[:, leaves])
        farthest = int(steps[on_way].max(initial=0))
        for step in range(farthest, 0, -1):  # from the far ends back to the leaf of each row
            on_way |= beside(on_way & (steps == step)) & (steps == step - 1)
        used |= on_way.any(axis=0)
    return used


def _steps(n_switches: int, links: np.ndarray, leaves: np.ndarray) -> np.ndarray:
    """Links between each of some switches and every switch, float64 (n_leaves, n_switches); inf if apart."""
    start = np.zeros((len(leaves), n_switches), bool)
    start[np.arange(len(leaves)), leaves] = True
    return _steps_from(start, links, _FARTHEST)


def _steps_from(start: np.ndarray, links: np.ndarray, most: int) -> np.ndarray:
    """Links between each switch and the nearest one where a row of `start` is true, in the shape of `start`,
    float64; inf beyond `most` of them."""
    beside = _Beside(start.shape[1], links)
    steps = np.where(start, 0.0, np.inf)
    reached, step = start, 0
    while reached.any() and step < most:
        step += 1
        reached = beside(reached) & np.isinf(steps)
        steps[reached] = step
    return steps


class _Beside:
    """The switches beside others. links : in either direction."""

    def __init__(self, n_switches: int, links: np.ndarray) -> None:
        ends = np.asarray(links, np.int64).reshape(-1, 2)
        ends = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
        self._n_switches, self._other = n_switches, ends[:, 1]
        self._switch, self._first = np.unique(ends[:, 0], return_index=True)

    def __call__(self, chosen: np.ndarray) -> np.ndarray:
        """Which switches have a link to a chosen one. chosen : bool (n_rows, n_switches), and the result."""
        found = np.zeros(chosen.shape, bool)
        if len(self._first):
            found[:, self._switch] = np.logical_or.reduceat(chosen[:, self._other], self._first, axis=1)
        return found


def _distances(n_switches: int, links: np.ndarray, leaves: np.ndarray) -> np.ndarray:
    """Links between each switch and the nearest of some, int32."""
    if not n_switches:
        return np.zeros(0, np.int32)
    start = np.zeros((1, n_switches), bool)
    start[0, leaves] = True
    return _steps_from(start, links, n_switches)[0].astype(np.int32)


def _levels(n_switches: int, links: np.ndarray) -> np.ndarray:
    """The level of each switch, int32: 0 with no switch below, others one above the highest below."""
    level = np.zeros(n_switches, np.int32)
    for _ in range(n_switches):
        raised = level.copy()
        np.maximum.at(raised, links[:, 1], level[links[:, 0]] + 1)
        if (raised == level).all():
            break
        level = raised
    return level
