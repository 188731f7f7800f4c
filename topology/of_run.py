# SPDX-License-Identifier: BSD-3-Clause
"""Places the ranks of a run on its machines and its network, from what its run directory holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from .network import network_of
from .placement import Placement, place
from .read_hwloc_xml import read_machines


class _Run(Protocol):
    path: Path
    info: Mapping[str, Any]
    rank_entries: Sequence[Mapping[str, Any] | None]


def placement_of(run: _Run) -> Placement:
    """The places of a run's ranks, with the switches between its nodes.

    run : a perfield.run.AnyRun, which keeps its placement; open it again after a change of its machine
    files. Never fails for what these or the network hold; the notes say what is wrong.
    """
    kept = getattr(run, "derived", {})
    if "placement" not in kept:
        kept["placement"] = _placement(run)
    return kept["placement"]


def _placement(run: _Run) -> Placement:
    machines, unreadable = read_machines(Path(run.path) / "machine", run.path)
    network = network_of(run.path, run.rank_entries, run.info.get("configuration", {}))
    placed = place(run.rank_entries, machines, network)
    return replace(placed, notes=tuple(dict.fromkeys((*unreadable, *placed.notes))))
