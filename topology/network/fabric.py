# SPDX-License-Identifier: BSD-3-Clause
"""A fabric that was discovered: switches and adapters by their GUIDs, and cables whose ends are equal.

It does not say which switch is above another, so a switch's level is its distance from the run's nodes,
and a run uses the switches on all shortest ways between these. A host is known by the descriptions of its
adapters, which begin with its name: `n1 HCA-1`, `n1 mlx5_0`, `n1 hfi1_0`.
"""

from __future__ import annotations

import re
from collections import Counter

from .model import Network
from .wiring import Wiring

_MANAGED = re.compile(r"[^;]*;([^:;]+):[^/]*(?:/(.*))?")  # MF0;switch-1:MSB7800/U1, with the chip at the end
_IN_SWITCH = "Aggregation Node"  # an adapter inside a switch


class Fabric:
    """Collects the parts of a fabric in any order."""

    def __init__(self) -> None:
        self._switches: dict[str, str] = {}  # GUID -> description
        self._adapters: dict[str, str] = {}
        self._cables: dict[tuple[str, str], None] = {}

    def part(self, guid: str, is_switch: bool, description: str) -> None:
        """A switch or an adapter; the first description that is not empty counts."""
        known = self._switches if is_switch else self._adapters
        known[guid] = known.get(guid) or description.strip()

    def cable(self, one: str, other: str) -> None:
        """A cable between two parts; both ends may report the same one."""
        if (other, one) not in self._cables:
            self._cables[one, other] = None

    def network(self, source: str) -> Network:
        """The network of all that was found. A host on several switches is on that of its first adapter."""
        wiring = Wiring(source, tree=False)
        called = {guid: _switch_name(text) or guid for guid, text in self._switches.items()}
        count = Counter(called.values())
        for guid, name in called.items():
            called[guid] = f"{name} ({guid})" if count[name] > 1 and name != guid else name
            wiring.switch(called[guid])
        ports: dict[str, list[tuple[str, int]]] = {}
        for one, other in self._cables:
            if one in called and other in called:
                wiring.link(wiring.switch(called[one]), wiring.switch(called[other]))
            elif one in called or other in called:
                switch, adapter = (one, other) if one in called else (other, one)
                host, _, rest = self._adapters.get(adapter, "").partition(" ")
                if host and _IN_SWITCH not in rest:
                    ports.setdefault(host, []).append((rest, wiring.switch(called[switch])))
        several = []
        for host, found in ports.items():
            found.sort(key=lambda port: port[0])
            wiring.attach([host], found[0][1], source)
            if len({switch for _, switch in found}) > 1:
                several.append(host)
        if several:
            others = f" and {len(several) - 1:,} more" if several[1:] else ""
            wiring.note(
                "several",
                f"{source} puts {several[0]}{others} on several switches each; they are under the switch "
                "of their first adapter.",
            )
        return wiring.network()


def _switch_name(description: str) -> str:
    """The name that an administrator gave a switch, with its chip if the switch has several."""
    managed = _MANAGED.fullmatch(description)
    if not managed:
        return description
    name, chip = managed.group(1), managed.group(2)
    return name if chip in (None, "", "U1") else f"{name} {chip}"
