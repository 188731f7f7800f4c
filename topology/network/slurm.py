# SPDX-License-Identifier: BSD-3-Clause
"""Reads Slurm's topology.conf (plugins tree and block) and what `scontrol show topology` prints.

Both have one switch or block per line, as `SwitchName=s1 Nodes=n[1-4]`. scontrol also gives the nodes below a
switch that has switches, and blocks that several blocks make (`AggregatedBlock=`). slurmibtopology.sh makes a
topology.conf in which a switch without nodes lists all its neighbours, also those above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .hostlist import short
from .model import Network
from .wiring import Wiring

_RECORD = re.compile(r"^[ \t]*(switchname|blockname|aggregatedblock)[ \t]*=", re.IGNORECASE | re.MULTILINE)
_FIELD = re.compile(r'\b(\w+)[ \t]*\+?=[ \t]*("[^"]*"|(?!\w+=)\S*)')
_KNOWN = {"switchname", "blockname", "aggregatedblock", "blocksizes", "blocklevels", "include"}
_SIZE = re.compile("[0-9]{1,9}")
_MOST_SIZES = 16  # Slurm's limit
_BANNER = "Generate the Slurm topology.conf file"  # of slurmibtopology.sh
_SWITCH_OF_FABRIC = re.compile(r"#\s*IB switch no\. \d+: (\S+) GUID: (\S+)")
_NEIGHBOUR = re.compile(r"#\s*Switch neighbor\s+(0x\S+)\s+with")


def is_slurm(text: str) -> bool:
    """Whether a text has a line of a switch or a block."""
    return _RECORD.search(text) is not None


def read_slurm(text: str, source: str) -> Network:
    """The network that the text describes; unusable lines become notes."""
    wiring = Wiring(source, tree=_BANNER not in text and not _SWITCH_OF_FABRIC.search(text))
    switches: list[tuple[str, dict[str, str]]] = []
    blocks: list[str] = []
    aggregated: list[tuple[str, list[str]]] = []
    sizes = ""
    for line, fields in _records(text, wiring):
        where = wiring.at(line)
        kind, name = next(iter(fields.items()))
        if not name:
            wiring.note("names", f"{where}: this line gives no name; write {kind}=name.")
        elif kind == "include":
            wiring.note("include", f"{where}: {short(name)} is included but not here; put its lines in here.")
        elif kind == "blocksizes":
            sizes = f"{line} {name}"
        elif kind == "switchname":
            if name in wiring.number:
                wiring.note(
                    "again",
                    f"{where}: switch {short(name)} is described once more; both lines count. Join them.",
                )
            wiring.switch(name)
            switches.append((name, {**fields, "where": where}))
        elif kind == "blockname":
            wiring.attach(wiring.hosts(fields.get("nodes", ""), where), wiring.switch(name), where)
            blocks.append(name)
        elif kind == "aggregatedblock":
            aggregated.append((name, wiring.hosts(name, where)))
    _link_switches(switches, wiring)
    _link_blocks(blocks, aggregated or _aggregated(blocks, sizes, wiring), wiring)
    if not wiring.tree:
        _link_neighbours(text, wiring)
    return wiring.network()


def _records(text: str, wiring: Wiring) -> Iterator[tuple[int, dict[str, str]]]:
    """The number and the fields, by names in small letters, of each line that begins with a known one."""
    in_banner = _BANNER in text
    joined: list[str] = []
    first = 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        content = line.partition("#")[0].rstrip()
        first = first or number
        if content.endswith("\\") and content == line.rstrip():
            joined.append(content[:-1])
            continue
        content, at = " ".join([*joined, content]).strip(), first
        joined, first = [], 0
        if not content:
            continue
        fields = {name.lower(): value.strip('"') for name, value in reversed(_FIELD.findall(content))}
        found = _FIELD.match(content)
        key = found.group(1).lower() if found else content.split()[0].lower()
        if key == "include" and not found:
            yield at, {"include": content[len(key) :].strip()}
        elif key in _KNOWN and found:
            yield at, {key: fields.pop(key), **fields}
            in_banner = False
        elif not in_banner:
            wiring.note("lines", f"{wiring.at(at)}: {short(content)} is no switch or block; it is left out.")


def _link_switches(switches: list[tuple[str, dict[str, str]]], wiring: Wiring) -> None:
    """Adds hosts and links. Hosts of a switch above others are theirs, if these name them."""
    described = {name for name, _ in switches}
    for name, record in switches:
        where = record["where"]
        if not record.keys() & {"nodes", "switches", "level"}:
            wiring.note(
                "lonely",
                f"{where}: switch {short(name)} has neither nodes nor switches; add Nodes= or Switches=.",
            )
        if not record.get("switches"):
            wiring.attach(wiring.hosts(record.get("nodes", ""), where), wiring.number[name], where)
    for name, record in switches:
        where = record["where"]
        for below in wiring.hosts(record.get("switches", ""), where):
            if below not in described:
                wiring.note(
                    "unknown",
                    f"{where}: switch {short(below)} of {short(name)} has no line of its own; add "
                    f"SwitchName={below} with its nodes.",
                )
            wiring.link(wiring.switch(below), wiring.number[name], where)
        if record.get("switches"):
            hosts = wiring.hosts(record.get("nodes", ""), where)
            own = [host for host in hosts if host not in wiring.leaf_of]
            wiring.attach(own, wiring.number[name], where)


def _link_blocks(blocks: list[str], aggregated: list[tuple[str, list[str]]], wiring: Wiring) -> None:
    """Puts each aggregated block above the blocks, or smaller aggregated blocks, that make it."""
    top = {name: wiring.number[name] for name in blocks}
    for name, members in sorted(aggregated, key=lambda found: len(found[1])):
        below = dict.fromkeys(top[member] for member in members if member in top)
        if len(below) > 1:
            above = wiring.switch(name)
            for unit in below:
                wiring.link(unit, above)
            top.update(dict.fromkeys(members, above))


def _aggregated(blocks: list[str], sizes: str, wiring: Wiring) -> list[tuple[str, list[str]]]:
    """The aggregated blocks that BlockSizes asks for: sizes are numbers of nodes, the first of a block."""
    line, _, text = sizes.partition(" ")
    if not text:
        return []
    numbers = [int(number) if _SIZE.fullmatch(number) else 0 for number in text.split(",")]
    if not all(number and number % numbers[0] == 0 for number in numbers):
        wiring.note(
            "sizes",
            f"{wiring.at(int(line))}: BlockSizes is {short(text)}, expected multiples of its first number, "
            "as in BlockSizes=16,32; blocks have no links.",
        )
        return []
    found = []
    for number in sorted(set(numbers))[1:_MOST_SIZES]:
        step = number // numbers[0]
        groups = [blocks[at : at + step] for at in range(0, len(blocks), step)]
        found += [(f"{group[0]} to {group[-1]}", group) for group in groups if len(group) > 1]
    return found


def _link_neighbours(text: str, wiring: Wiring) -> None:
    """Adds the links that slurmibtopology.sh gives in comments only: those between switches with nodes."""
    found: list[tuple[str, str]] = []
    name_of: dict[str, str] = {}
    name = ""
    for line in text.split("\n"):
        if switch := _SWITCH_OF_FABRIC.match(line):
            name = switch.group(1)
            name_of[switch.group(2)] = name
        elif neighbour := _NEIGHBOUR.match(line):
            found.append((name, neighbour.group(1)))
    for name, guid in found:
        one, other = (wiring.number.get(known, -1) for known in (name, name_of.get(guid, "")))
        if one >= 0 and other >= 0:
            wiring.link(one, other)
