# SPDX-License-Identifier: BSD-3-Clause
"""The places of ranks as rows of text: of each rank, of each package, or of nodes that are filled alike."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from .mapping import ranges
from .placement import Placement

COLUMNS = ("ranks", "host", "switch", "package", "core", "pu", "threads", "ran_on", "devices")


def places(
    placement: Placement,
    by: str = "rank",
    ran_on: np.ndarray | None = None,
    devices: Mapping[int, Sequence[str]] | None = None,
) -> list[dict[str, str]]:
    """Rows that say where ranks are.

    by : "rank", a row for each; "package", one for all ranks in the same package of a node (those that are
    in no single one: of the same node); "alike", one for the same package of all nodes whose machine and
    bindings are equal. ran_on : float (n_times, n_ranks), the PU (the operating system's number) on which
    each rank was seen, NaN where unknown. devices : names of those that a rank used.

    Columns: ranks, host, switch, package, core, pu (PUs that a rank may run on), threads (PUs that each of
    several threads that compute may run on, "0-1 2-3"; their number, for several ranks), ran_on, devices; ""
    is unknown, and "-" means several packages or cores. Columns that are empty in all rows are left out.
    """
    node_of, packages = placement.node_id.tolist(), np.nan_to_num(placement.package_id, nan=-1).tolist()
    kind_of_node = _kinds(placement) if by == "alike" else list(range(len(placement.nodes)))
    groups: dict[Hashable, list[int]] = {}
    for rank, node in enumerate(node_of):
        place = rank if by == "rank" else packages[rank]
        groups.setdefault((kind_of_node[node] if node >= 0 else -1, place), []).append(rank)
    rows = [_row(placement, np.array(group), ran_on, devices or {}) for group in groups.values()]
    used = [name for name in COLUMNS if name in ("ranks", "host") or any(row[name] for row in rows)]
    return [{name: row[name] for name in used} for row in rows]


def _kinds(placement: Placement) -> list[int]:
    """The kind of each node; nodes of one kind have equal machines, bound to in the same way."""
    bindings: list[list[int]] = [[] for _ in placement.nodes]
    for node, binding in zip(placement.node_id.tolist(), placement.binding.tolist()):
        if node >= 0:
            bindings[node].append(binding)
    known: dict[Hashable, int] = {}
    return [
        known.setdefault((id(node.machine), *sorted(held)), len(known))
        for node, held in zip(placement.nodes, bindings)
    ]


def _row(
    placement: Placement,
    group: np.ndarray,
    ran_on: np.ndarray | None,
    devices: Mapping[int, Sequence[str]],
) -> dict[str, str]:
    nodes = np.unique(placement.node_id[group])
    row = dict.fromkeys(COLUMNS, "") | {"ranks": ranges(group)}
    if nodes[0] < 0:
        return row | {"host": "never checked in"}
    machine = placement.nodes[nodes[0]].machine
    switches = placement.switches.of_node[nodes]
    names = [placement.switches.name[switch] for switch in np.unique(switches[switches >= 0])]
    positions = np.concatenate(
        [placement.bindings[binding] for binding in np.unique(placement.binding[group])]
    )
    seen = np.zeros(0) if ran_on is None else np.unique(ran_on[:, group])
    return row | {
        "host": _few([placement.nodes[node].label for node in nodes], "nodes"),
        "switch": _few(names, "switches"),
        "package": _numbers(placement.package_id[group], bool(machine.level("package"))),
        "core": _numbers(placement.core_id[group], bool(machine.level("core"))),
        "pu": ranges([machine.pus[at] for at in np.unique(positions)])
        if placement.n_pus[group].any()
        else "",
        "threads": _threads(placement, group),
        "ran_on": ranges(seen[seen >= 0]),
        "devices": " ".join(dict.fromkeys(name for rank in group.tolist() for name in devices.get(rank, ()))),
    }


def _threads(placement: Placement, group: np.ndarray) -> str:
    if len(group) == 1:
        return " ".join(placement.cpusets_of_threads.get(int(group[0]), ()))
    n_threads = placement.n_threads[group]
    return ranges(np.unique(n_threads)) if (n_threads > 1).any() else ""


def _few(names: list[str], what: str) -> str:
    """Names, or the first and the last of many."""
    return " ".join(names) if len(names) <= 2 else f"{names[0]} ... {names[-1]} ({len(names):,} {what})"


def _numbers(numbers: np.ndarray, known: bool) -> str:
    """Numbers of parts; "-" if a rank is in several of them, "" if the machine is unknown."""
    if not known:
        return ""
    return "-" if np.isnan(numbers).any() else ranges(numbers)
