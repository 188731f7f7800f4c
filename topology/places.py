# SPDX-License-Identifier: BSD-3-Clause
"""The places of ranks as rows of text: one for each rank, or one for all ranks of a package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .mapping import ranges
from .placement import Placement


def places(
    placement: Placement,
    together: bool = False,
    ran_on: Mapping[int, Sequence[int]] | None = None,
    devices: Mapping[int, Sequence[str]] | None = None,
) -> list[dict[str, str]]:
    """A row for each rank, or for all ranks in the same package (those without one: of the same node).

    ran_on : the PUs (the operating system's numbers) on which a rank was seen. devices : names of those that
    it used. Columns: ranks, host, switch, package, core, pu (PUs that it may run on), ran_on, devices; "" is
    unknown, and "-" means several packages or cores. Columns that are empty in all rows are left out.
    """
    groups: dict[tuple, list[int]] = {}
    for rank, node in enumerate(placement.node_id.tolist()):
        key = (node, float(np.nan_to_num(placement.package_id[rank], nan=-1)))
        groups.setdefault(key if together else (node, rank), []).append(rank)
    rows = [_row(placement, group, ran_on or {}, devices or {}) for group in groups.values()]
    used = [
        name for name in (rows[0] if rows else {}) if name in ("ranks", "host") or any(r[name] for r in rows)
    ]
    return [{name: row[name] for name in used} for row in rows]


def _row(
    placement: Placement,
    group: Sequence[int],
    ran_on: Mapping[int, Sequence[int]],
    devices: Mapping[int, Sequence[str]],
) -> dict[str, str]:
    node_id = int(placement.node_id[group[0]])
    row = dict.fromkeys(("ranks", "host", "switch", "package", "core", "pu", "ran_on", "devices"), "")
    row["ranks"] = ranges(group)
    if node_id < 0:
        return row | {"host": "never checked in"}
    node = placement.nodes[node_id]
    switch = int(placement.switches.of_node[node_id])
    bindings = np.unique(placement.binding[group])
    positions = np.unique(np.concatenate([placement.bindings[binding] for binding in bindings]))
    return row | {
        "host": node.label,
        "switch": placement.switches.name[switch] if switch >= 0 else "",
        "package": _numbers(placement.package_id[group], bool(node.machine.level("package"))),
        "core": _numbers(placement.core_id[group], bool(node.machine.level("core"))),
        "pu": ranges([node.machine.pus[at] for at in positions]) if placement.n_pus[group].any() else "",
        "ran_on": ranges([pu for rank in group for pu in ran_on.get(rank, ())]),
        "devices": " ".join(dict.fromkeys(name for rank in group for name in devices.get(rank, ()))),
    }


def _numbers(numbers: np.ndarray, known: bool) -> str:
    """Numbers of parts; "-" if a rank is in several of them, "" if the machine is unknown."""
    if not known:
        return ""
    return "-" if np.isnan(numbers).any() else ranges(numbers)
