# SPDX-License-Identifier: BSD-3-Clause
"""Reads what InfiniBand's `ibnetdiscover` prints, in full or as a list of ports (-p).

In full, a line names a part, and the lines below it are its ports in use:
    Switch 36 "S-0002c902004885e0" # "MF0;sw1:IS5030/U1" enhanced port 0 lid 2 lmc 0
    [1] "H-0002c903000f1234"[1](2c903000f1235) # "n1 HCA-1" lid 4 4xQDR
In a list, each line names both ends:
    SW 2 1 0x0002c902004885e0 4x QDR - CA 4 1 0x0002c903000f1235 ( 'MF0;sw1:IS5030/U1' - 'n1 HCA-1' )
"""

from __future__ import annotations

import re

from .fabric import Fabric
from .model import Network

_PART = re.compile(r'^(?:Switch|Ca|Rt)[ \t]+\d+[ \t]+"([SHR]-[0-9a-fA-F]+)"[^"#]*(?:#[ \t]*"(.*)")?')
_PORT = re.compile(
    r'^\[\d+\](?:\[[^]]*\])?(?:\([0-9a-fA-F]*\))?[ \t]+"([SHR]-[0-9a-fA-F]+)"\[\d+\][^"#]*'
    r'(?:#[ \t]*(lid \d+ lmc \d+ )?"(.*)")?'
)
_ENDS = re.compile(
    r"^(SW|CA)\s+\d+\s+\d+\s+(0x[0-9a-fA-F]+)\s+\S+\s+\S+\s+-\s+"
    r"(SW|CA)\s+\d+\s+\d+\s+(0x[0-9a-fA-F]+)\s+\(\s*'(.*)'\s+-\s+'(.*)'"
)
_ANY = re.compile(r'^(?:(?:Switch|Ca|Rt)[ \t]+\d+[ \t]+"[SHR]-|(?:SW|CA)[ \t]+\d+[ \t]+\d+[ \t]+0x)', re.M)
_LONGEST = 4000  # characters of a line; a description has at most 64


def is_ibnetdiscover(text: str) -> bool:
    """Whether a text has a line of a part or of a port."""
    return _ANY.search(text) is not None


def read_ibnetdiscover(text: str, source: str) -> Network:
    """The network that the text describes; lines of other kinds are left out."""
    fabric = Fabric()
    part = ""
    for line in text.split("\n"):
        line = line[:_LONGEST]
        if found := _PART.match(line):
            part = found.group(1)
            fabric.part(part, part[0] == "S", found.group(2) or "")
        elif (found := _PORT.match(line)) and part:
            peer, _, description = found.groups()
            fabric.part(peer, peer[0] == "S", description or "")
            fabric.cable(part, peer)
        elif found := _ENDS.match(line):
            kind, guid, other_kind, other_guid, description, other = found.groups()
            fabric.part(guid, kind == "SW", description)
            fabric.part(other_guid, other_kind == "SW", other)
            fabric.cable(guid, other_guid)
        elif not line.strip():
            part = ""
    return fabric.network(source)
