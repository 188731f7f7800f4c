# SPDX-License-Identifier: BSD-3-Clause
"""The switches above a node as Slurm gives them to its tasks: SLURM_TOPOLOGY_ADDR and its pattern.

Under topology/tree the address is `spine.leaf.node` with the pattern `switch.switch.node`; one level may hold
several switches (`s[1-2].leaf.node`) or none. Under topology/block it is `block.node`.
"""

from __future__ import annotations

from .hostlist import expand_hosts, short
from .model import NetworkError
from .wiring import Wiring

_MOST_OF_LEVEL = 1 << 12  # switches that one level of an address may name


def add_address(wiring: Wiring, host: str, address: str, pattern: str) -> None:
    """Puts a host on the last switch of its address, and that one under those before it.

    What is above a switch that is known already is not added again. Raises NetworkError if address and
    pattern do not fit together.
    """
    kinds = pattern.split(".") if pattern else ["switch"] * address.count(".") + ["node"]
    parts = address.split(".", len(kinds) - 1)
    if len(parts) != len(kinds) or not set(kinds[:-1]) <= {"switch", "block"} or kinds[-1] != "node":
        raise NetworkError(
            f"SLURM_TOPOLOGY_ADDR of {short(host)} is {short(address)}, which does not fit its pattern "
            f"{short(pattern)}; expected a form such as 'spine.leaf.node' and 'switch.switch.node'."
        )
    most = min(_MOST_OF_LEVEL, wiring.hosts_left)
    levels = [names for names in (expand_hosts(part, most) for part in reversed(parts[:-1])) if names]
    if not levels:
        return
    wiring.hosts_left -= sum(map(len, levels))
    n_links = sum(len(below) * len(above) for below, above in zip(levels, levels[1:]))
    if n_links > wiring.links_left:
        raise NetworkError(
            f"SLURM_TOPOLOGY_ADDR of {short(host)} is {short(address)}, which links {n_links:,} pairs of "
            f"switches, expected at most {wiring.links_left:,}; correct its ranges."
        )
    wiring.links_left -= n_links
    known = levels[0][0] in wiring.number
    wiring.attach([host], wiring.switch(levels[0][0]), "SLURM_TOPOLOGY_ADDR")
    for below, above in zip(levels, levels[1:]):
        if known:
            break
        known = all(name in wiring.number for name in above)
        for lower in below:
            for upper in above:
                wiring.link(wiring.switch(lower), wiring.switch(upper), "SLURM_TOPOLOGY_ADDR")
