# SPDX-License-Identifier: BSD-3-Clause
"""Finds each rank's place: its node, and the PUs, core, package and NUMA node that it was bound to.

It works on arrays over ranks and computes each (machine, CPU set) once for all ranks that share it. Odd input
does not fail; `notes` says what was missing or contradictory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan

import numpy as np

from .machine import Machine, MachineError, flat_machine, parse_cpuset
from .network import Network, Switches, used_switches

UNKNOWN_BOOT = "00000000"  # the boot id of a rank that could not read it


@dataclass(frozen=True)
class Node:
    """A node of the run: ranks with the same boot id, whatever they call their host.

    hosts : the names that they gave it; several if they ran in containers with names of their own.
    label : the name, with the boot id if two nodes have the same one; or the first two names.
    """

    hosts: tuple[str, ...]
    boot_id: str
    label: str
    machine: Machine

    @property
    def host(self) -> str:
        """The first of its names."""
        return self.hosts[0]


@dataclass(frozen=True)
class Placement:
    """The places of the ranks. All arrays have shape (n_ranks,).

    nodes : the nodes of the run, in the order of their numbers.
    node_id : int32, index in `nodes`; -1 for a rank that never checked in.
    first, last : int32, the rank is bound to PUs between positions first and last - 1 of its machine.
    binding : int32, index in `bindings`; -1 for a rank that never checked in.
    bindings : the PU positions of each distinct binding, ascending.
    package_id, numa_id, core_id, pu_id : float64, the number of the one part that holds all PUs of the
        rank; NaN if the rank is bound to several parts or the machine is unknown.
    n_pus : int32, the number of PUs that the rank may run on; 0 if they are unknown.
    movable : bool, the rank may run on several cores (on several PUs, if the cores are unknown).
    cpusets_of_threads : of ranks with several threads that compute, the PUs that each may run on, as text
        ("0-3,8") in the numbers of the operating system. The rank is bound to all of these.
    notes : sentences about what was missing or contradictory.
    switches : the switches between the nodes.
    """

    nodes: tuple[Node, ...]
    node_id: np.ndarray
    first: np.ndarray
    last: np.ndarray
    binding: np.ndarray
    bindings: tuple[np.ndarray, ...]
    package_id: np.ndarray
    numa_id: np.ndarray
    core_id: np.ndarray
    pu_id: np.ndarray
    n_pus: np.ndarray
    movable: np.ndarray
    notes: tuple[str, ...]
    switches: Switches
    cpusets_of_threads: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def n_ranks(self) -> int:
        """Number of the run's ranks, including those that never checked in."""
        return len(self.node_id)

    @property
    def n_threads(self) -> np.ndarray:
        """int64 (n_ranks,), how many threads of each rank compute; 1 where nobody looked."""
        count = np.ones(self.n_ranks, np.int64)
        for rank, cpusets in self.cpusets_of_threads.items():
            count[rank] = len(cpusets)
        return count

    @property
    def switch_id(self) -> np.ndarray:
        """int32 (n_ranks,), the switch of each rank's node, index in switches.name; -1 if unknown."""
        return np.append(self.switches.of_node, np.int32(-1))[self.node_id]  # -1 finds the appended one


def machines_of(nodes: Sequence[Node]) -> tuple[list[Machine], np.ndarray]:
    """The different machines of some nodes, and the index of each node's, int64 (n_nodes,)."""
    machines = {id(node.machine): node.machine for node in nodes}
    number = {key: at for at, key in enumerate(machines)}
    return list(machines.values()), np.array([number[id(node.machine)] for node in nodes], np.int64)


def place(
    ranks: Sequence[Mapping | None], machines: Mapping[str, Machine], network: Network | None = None
) -> Placement:
    """Places the ranks on the machines.

    ranks : the `host`, `boot_id`, `cpuset` and `cpusets_of_threads` of each rank from its check-in and from
        what changed since; None if it never checked in.
    machines : by host, or by `<host>-<first 8 digits of the boot id>` if two nodes have the same name.
        A host without a machine gets a flat one with the PUs that its ranks were bound to.
    network : the switches of the cluster; None if they are unknown.
    """
    node_of: dict[tuple[str, str], int] = {}
    cpuset_of: dict[str, int] = {}
    node = np.full(len(ranks), -1, np.int32)
    cpuset = np.zeros(len(ranks), np.int32)
    threads = {}
    for rank, entry in enumerate(ranks):
        if entry is not None:
            key = (entry.get("host") or "", entry.get("boot_id") or "")
            node[rank] = node_of.setdefault(key, len(node_of))
            cpuset[rank] = cpuset_of.setdefault(entry.get("cpuset") or "", len(cpuset_of))
            of_threads = entry.get("cpusets_of_threads")
            if isinstance(of_threads, (list, tuple)) and len(of_threads) > 1:
                threads[rank] = tuple(map(str, of_threads))
    notes: list[str] = []
    pu_sets = [_pus(text, notes) for text in cpuset_of]
    nodes, number = _nodes(list(node_of), machines, node, cpuset, pu_sets, notes)
    node = np.where(node >= 0, number[node] if len(number) else -1, -1).astype(np.int32)
    hosts = [node.host for node in nodes]
    switches = used_switches(network, hosts) if network else Switches.unknown(len(nodes))
    notes += switches.notes
    return replace(_bind(nodes, node, cpuset, pu_sets, notes, switches), cpusets_of_threads=threads)


def _pus(text: str, notes: list[str]) -> tuple[int, ...]:
    try:
        return parse_cpuset(text)
    except MachineError as error:
        notes.append(f"{error} Its ranks are shown as not bound.")
        return ()


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """A sort key that puts node2 before node10."""
    return [
        (0, int(piece), "") if piece.isdigit() else (1, 0, piece)
        for piece in re.findall(r"[0-9]+|[^0-9]+", name)
    ]


def _nodes(keys, machines, node, cpuset, pu_sets, notes) -> tuple[tuple[Node, ...], np.ndarray]:
    """The nodes in their final order, and the number of the node of each (host, boot id) in `keys`."""

    def machine_of(key: int) -> Machine | None:
        host, boot_id = keys[key]
        return machines.get(f"{host}-{boot_id[:8]}", machines.get(host))

    order = sorted(range(len(keys)), key=lambda key: (natural_order(keys[key][0]), keys[key][1]))
    groups = _of_one_node(keys, order, machine_of)
    count = Counter(keys[group[0]][0] for group in groups)
    nodes, unknown = [], []
    shared: dict[Machine, Machine] = {}
    number = np.empty(len(keys), np.int32)
    for group in groups:
        number[group] = len(nodes)
        host, boot_id = keys[group[0]]
        hosts = tuple(dict.fromkeys(keys[key][0] for key in group))
        label = _list(hosts, 2) if len(hosts) > 1 else f"{host} ({boot_id[:8]})" if count[host] > 1 else host
        known = [machine for machine in map(machine_of, group) if machine is not None]
        # A container may be allowed only a part of the machine.
        machine = max(known, key=lambda machine: len(machine.pus), default=None)
        if machine is None:
            here = np.isin(node, group)
            machine = flat_machine({pu for c in np.unique(cpuset[here]) for pu in pu_sets[c]})
            machine = shared.setdefault(machine, machine)
            unknown.append(label)
        nodes.append(Node(hosts, boot_id, label, machine))
    if unknown:
        notes.append(
            f"the run has no description of the machine of {_list(unknown)} "
            f"({len(unknown)} of {len(nodes)} nodes); "
            "the picture shows only the PUs that ranks are bound to there."
        )
    return tuple(nodes), number


def _of_one_node(keys, order, machine_of) -> list[list[int]]:
    """The keys (host, boot id) of each node, in that order: those with the same boot id, unless their
    machines contradict each other, as where virtual machines are copies of one that ran."""
    groups: list[list[int]] = []
    of_boot: dict[str, list[list[int]]] = {}
    for key in order:
        boot_id = keys[key][1]
        known = of_boot.setdefault(boot_id, []) if boot_id not in ("", UNKNOWN_BOOT) else []
        for group in known:
            if _agree(machine_of(group[0]), machine_of(key)):
                group.append(key)
                break
        else:
            groups.append([key])
            known.append(groups[-1])
    return groups


def _agree(one: Machine | None, other: Machine | None) -> bool:
    """Whether two descriptions may be of one machine: they put the PUs that both have into the same cores."""
    if one is None or other is None or one is other:
        return True
    both = set(one.pus) & set(other.pus)
    return all(_siblings(one, pu) & both == _siblings(other, pu) & both for pu in both)


def _siblings(machine: Machine, pu: int) -> set[int]:
    """The PUs of the core of a PU; of the machine, if its cores are not known."""
    at = machine.position[pu]
    for part in machine.level("core"):
        if part.first <= at < part.last:
            return set(machine.pus[part.first : part.last])
    return set(machine.pus)


def _bind(nodes, node, cpuset, pu_sets, notes, switches) -> Placement:
    """Finds PUs and parts once for each distinct (machine, CPU set), and assigns them to the ranks."""
    kinds, kind_of_node = machines_of(nodes)
    present = np.flatnonzero(node >= 0)
    keys = (
        kind_of_node[node[present]] * max(len(pu_sets), 1) + cpuset[present]
        if len(present)
        else np.zeros(0, int)
    )
    different, which = np.unique(keys, return_inverse=True)
    bindings, rows = [], []
    for key in different:
        machine, pus = kinds[key // len(pu_sets)], pu_sets[key % len(pu_sets)]
        positions = np.array(sorted(machine.position[pu] for pu in pus if pu in machine.position), np.int32)
        if not len(positions):
            if pus:
                notes.append(
                    f"ranks are bound to PUs {_list(pus)}, but their machine does not have these (it has "
                    f"{len(machine.pus)} PUs, {_list(sorted(machine.pus))}); they are shown as not bound."
                )
            positions = np.arange(len(machine.pus), dtype=np.int32)
        bindings.append(positions)
        first, last = int(positions[0]), int(positions[-1]) + 1
        rows.append(
            (
                first,
                last,
                *(_holder(machine, level, first, last) for level in ("package", "numa", "core", "pu")),
                len(positions) if machine.level("pu") else 0,
                _spans_several(machine, first, last),
            )
        )
    columns = np.full((8, len(node)), np.nan)
    binding = np.full(len(node), -1, np.int32)
    if len(present):
        columns[:, present] = np.array(rows, float).T[:, which]
        binding[present] = which
    first, last, n_pus, movable = np.nan_to_num(columns[[0, 1, 6, 7]], nan=0).astype(np.int32)
    return Placement(
        *(nodes, node, first, last, binding, tuple(bindings), *columns[2:6]),
        *(n_pus, movable.astype(bool), tuple(dict.fromkeys(notes)), switches),
    )


def _list(items: Sequence, most: int = 4) -> str:
    text = ", ".join(map(str, items[:most]))
    return f"{text}, ..." if len(items) > most else text


def _holder(machine: Machine, level: str, first: int, last: int) -> float:
    """Number of the part of a level that holds the PUs first to last - 1; NaN if there is none."""
    for part in machine.level(level):
        if part.first <= first and last <= part.last:
            return part.number
    return float("nan")


def _spans_several(machine: Machine, first: int, last: int) -> bool:
    """Whether the PUs first to last - 1 belong to several cores, or are several PUs without known cores."""
    level = "core" if machine.level("core") else "pu"
    return bool(machine.level(level)) and isnan(_holder(machine, level, first, last))
