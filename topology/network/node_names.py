# SPDX-License-Identifier: BSD-3-Clause
"""The racks and the like that the names of nodes imply, where nothing else is known of the network."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .backtracking import most_tries
from .hostlist import short
from .model import NetworkError
from .wiring import Wiring

CRAY_XNAME = r"x(?P<cabinet>\d+)c(?P<chassis>\d+)s(?P<slot>\d+)b\d+n\d+"
"""Names of nodes on HPE Cray EX, the pattern where the configuration has none."""

_MOST_TRIES = 20_000_000  # about a second


def add_node_names(wiring: Wiring, hosts: Iterable[str], pattern: str) -> int:
    """Puts hosts under what their names imply, and returns how many.

    pattern : a regular expression for the beginning of a name. Its named groups are the levels, the largest
    part first; the text up to the end of a group names that part. "" takes CRAY_XNAME. Raises NetworkError
    if the pattern is unusable.
    """
    hosts = list(hosts)
    try:
        parts = re.compile(pattern or CRAY_XNAME)
        tries = most_tries(pattern or CRAY_XNAME, hosts)
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        raise NetworkError(
            f"node_name_pattern is {short(pattern)}, which is not a regular expression ({error}); "
            f"write a form such as '{CRAY_XNAME}'."
        ) from None
    if not parts.groupindex:
        raise NetworkError(
            f"node_name_pattern is {short(pattern)}, which has no named group; write a form such as "
            f"'{CRAY_XNAME}'."
        )
    if tries > _MOST_TRIES:
        raise NetworkError(
            f"node_name_pattern is {short(pattern)}, which may take {_MOST_TRIES:,} tries or more on the "
            f"names of {len(hosts):,} hosts; repeat single letters only, and let each repeat be followed by "
            f"a letter that is not among these, as in '{CRAY_XNAME}'."
        )
    found = 0
    for host in hosts:
        match = parts.match(host)
        if not match:
            continue
        names = dict.fromkeys(host[: match.end(level)] for level in parts.groupindex if match.end(level) > 0)
        numbers = [wiring.switch(name) for name in names]
        if numbers:
            wiring.attach([host], numbers[-1], "the names of the nodes")
            found += 1
            for upper, lower in zip(numbers, numbers[1:]):
                wiring.link(lower, upper, "the names of the nodes")
    return found
