# SPDX-License-Identifier: BSD-3-Clause
"""The switches of a cluster, and the part of them that one run uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path


class NetworkError(ValueError):
    """The description of a network is unusable; the text says what is wrong, where, and what to do."""


@dataclass(frozen=True)
class Network:
    """The switches of a cluster, as a file or the ranks themselves describe them.

    names : of the switches; a switch's number (`id`) is its index.
    links : (lower switch, upper switch) of each pair of connected switches; equal links count once.
    leaf_of : the number of the switch that each host is attached to. Hosts are found by their whole or their
        short name. A host on several switches has the first of them.
    source : where this is known from, for sentences: "topology.conf", "SLURM_TOPOLOGY_ADDR".
    notes : sentences about what was missing or contradictory.
    """

    names: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    leaf_of: Mapping[str, int]
    source: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Switches:
    """The switches that a run uses: those on a shortest way between two of its nodes, or above one node.

    name : of each switch. id : int32 (n_switches,), its number in the whole network.
    level : int32 (n_switches,), 0 for a switch with nodes; each other one is one level above the highest
        below it.
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
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def unknown(cls, n_nodes: int) -> Switches:
        """No switch is known, for any node."""
        nothing = np.zeros(0, np.int32)
        return cls((), nothing, nothing, nothing.reshape(0, 2), np.full(n_nodes, -1, np.int32))

    def hops(self, from_node: np.ndarray, to_node: np.ndarray) -> np.ndarray:
        """How many switches a message passes between nodes, float64 in the shape of the node numbers.

        0 inside a node, 1 under the same switch; NaN where the way is not known.
        """
        one, other = self.of_node[from_node], self.of_node[to_node]
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
    of_node = np.array([_leaf_of(network, host) for host in hosts], np.int64).reshape(-1)
    leaves = np.unique(of_node[of_node >= 0])
    links = np.array(sorted(set(network.links)), np.int64).reshape(-1, 2)
    steps = _steps(len(network.names), links, leaves)
    used = np.zeros(len(network.names), bool)
    used[leaves] = True
    for row, leaf in enumerate(leaves):
        direct = steps[row, leaves][:, None]
        used |= ((steps[row] + steps == direct) & np.isfinite(direct)).any(axis=0)
        used[leaf] = True
    ids = np.flatnonzero(used)
    number = np.full(len(network.names) + 1, -1, np.int32)
    number[ids] = np.arange(len(ids))
    links = number[links[used[links].all(axis=1)]] if len(links) else links
    missing = [host for host, leaf in zip(hosts, of_node) if leaf < 0]
    notes = network.notes
    if missing and len(missing) < len(hosts):
        some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        notes += (
            f"{network.source} names no switch of {some} ({len(missing)} of {len(hosts)} nodes); "
            "these stand without a switch.",
        )
    level = _levels(len(ids), links)
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


def _leaf_of(network: Network, host: str) -> int:
    """The switch of a host by its whole name, or else by its name without the domain; -1 if unknown."""
    for name in (host, host.partition(".")[0]):
        if name in network.leaf_of:
            return network.leaf_of[name]
    return -1


def _steps(n_switches: int, links: np.ndarray, leaves: np.ndarray) -> np.ndarray:
    """Links between each of some switches and every switch, float64 (n_leaves, n_switches); inf if apart."""
    if not len(leaves):
        return np.zeros((0, n_switches))
    ends = np.asarray(links).reshape(-1, 2).T
    graph = csr_matrix((np.ones(len(ends[0])), (ends[0], ends[1])), shape=(n_switches, n_switches))
    return shortest_path(graph, directed=False, unweighted=True, indices=leaves)


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
