# SPDX-License-Identifier: BSD-3-Clause
"""Finds the network of a run: its file, then the addresses that Slurm gave its ranks, then its node names.

Each of these adds only the hosts that the earlier ones lack, and a wrong line becomes a note: what is known
is always drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .model import Network, NetworkError
from .node_names import add_node_names
from .read import read_network
from .slurm_address import add_address
from .wiring import Wiring

FILE = "machine/network.txt"
"""Where a run keeps the description of its network, as it was given."""


def network_of(
    run_path: str | Path, ranks: Sequence[Mapping[str, Any] | None], settings: Mapping[str, Any]
) -> Network | None:
    """The switches between the nodes of a run; None if nothing is known of them, or they are not wanted.

    ranks : the entry of each rank, None if it never checked in; `topology_addr` and `topology_pattern` are
    SLURM_TOPOLOGY_ADDR and its pattern. settings : the run's configuration; `network_topology` false wants
    no switches, `node_name_pattern` finds them in names of nodes. A source adds the hosts that those before
    it lack. What is wrong becomes a note of the network.
    """
    if not settings.get("network_topology", True):
        return None
    entries = {entry["host"]: entry for entry in ranks if entry and entry.get("host")}
    if not entries:
        return None
    network, notes = _from_file(Path(run_path))
    sources = [network.source] if network.leaf_of else []
    wiring = Wiring.of(network)
    lacking = []
    for host, entry in entries.items():
        if network.leaf(host) < 0:
            whole = network.leaf(entry.get("host_long") or host)
            if whole >= 0:
                wiring.attach([host], whole, network.source)
            else:
                lacking.append(host)
    wrong: list[str] = []
    for host in lacking:
        address, pattern = (entries[host].get(key) or "" for key in ("topology_addr", "topology_pattern"))
        if address:
            try:
                add_address(wiring, host, str(address), str(pattern))
            except NetworkError as error:
                wrong.append(str(error))
    if any(host in wiring.leaf_of for host in lacking):
        sources.append("SLURM_TOPOLOGY_ADDR")
    lacking = [host for host in lacking if host not in wiring.leaf_of]
    try:
        if add_node_names(wiring, lacking, str(settings.get("node_name_pattern") or "")):
            sources.append("the names of the nodes")
            wiring.note(
                "names",
                "the switches are racks and the like, as names of nodes imply them, since nothing else is "
                "known of the network. Set topology_file to show its switches.",
            )
    except NetworkError as error:
        wiring.note("pattern", str(error))
    if wrong:
        wiring.note("addresses", wrong[0] + (f" ({len(wrong) - 1} more are like this.)" if wrong[1:] else ""))
    found = wiring.network(" and ".join(sources)).with_notes(notes)
    return found if found.leaf_of or found.notes else None


def _from_file(run: Path) -> tuple[Network, tuple[str, ...]]:
    """The network in a run's file, empty without one, and what is to be said of the file."""
    nothing = Network((), (), {})
    try:
        return read_network(run / FILE, FILE, run), ()
    except FileNotFoundError:
        return nothing, ()
    except (NetworkError, OSError) as error:
        return nothing, (f"the switches of the network are not shown: {error}",)
