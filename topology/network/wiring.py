# SPDX-License-Identifier: BSD-3-Clause
"""Collects switches, links and hosts while a description is read, and the sentences on what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter

from .hostlist import MOST_HOSTS, expand_hosts, short, split_hosts
from .model import Network, NetworkError

_MOST_LISTS = 1000  # wrong host lists whose good items are kept
_MOST_SUSPECTS = 2000  # links in cycles that are looked at one by one


class Wiring:
    """A network while it is read.

    source : where the description is from, for sentences. tree : as in Network.
    """

    def __init__(self, source: str, tree: bool = True) -> None:
        self.source = source
        self.tree = tree
        self.names: list[str] = []
        self.number: dict[str, int] = {}
        self.links: dict[tuple[int, int], str] = {}  # (lower, upper) -> where this is said
        self.leaf_of: dict[str, int] = {}
        self._said_at: dict[str, str] = {}
        self._notes: dict[str, str] = {}  # the first of each kind
        self._count: Counter[str] = Counter()  # of each kind
        self.hosts_left = 2 * MOST_HOSTS  # to be named; the lines of upper switches may name them again
        self.links_left = MOST_HOSTS  # that addresses may name

    @classmethod
    def of(cls, network: Network) -> Wiring:
        """A network that is to grow. Its notes are continued."""
        wiring = cls(network.source, network.tree)
        for name in network.names:
            wiring.switch(name)
        wiring.links = dict.fromkeys(network.links, network.source)
        wiring.leaf_of = dict(network.leaf_of)
        wiring._said_at = dict.fromkeys(network.leaf_of, network.source)
        for sentence in network.notes:
            wiring.note(sentence, sentence)
        return wiring

    def at(self, line: int) -> str:
        """A place in the description, for sentences."""
        return f"{self.source}, line {line}"

    def note(self, kind: str, sentence: str) -> None:
        """Keeps a sentence on what is wrong; of each kind the first is reported, and the rest counted."""
        self._notes.setdefault(kind, sentence)
        self._count[kind] += 1

    def switch(self, name: str) -> int:
        """The number of a switch, which is new if its name is."""
        number = self.number.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number

    def link(self, lower: int, upper: int, where: str = "") -> None:
        """Connects two switches; a switch with itself becomes a note."""
        if lower == upper:
            self.note(
                "itself",
                f"{where}: switch {short(self.names[lower])} is linked to itself; correct this line.",
            )
        elif self.tree or (upper, lower) not in self.links:
            self.links.setdefault((lower, upper), where)

    def attach(self, hosts: Iterable[str], switch: int, where: str) -> None:
        """Puts hosts on a switch. A host that is on another one stays there, which becomes a note."""
        for host in hosts:
            before = self.leaf_of.setdefault(host, switch)
            if before == switch:
                self._said_at.setdefault(host, where)
                continue
            self.note(
                "claims",
                f"{where}: host {short(host)} is on switch {short(self.names[switch])}, but "
                f"{self._said_at[host]} puts it on {short(self.names[before])}, where it stays; "
                "remove one of both.",
            )

    def hosts(self, text: str, where: str) -> list[str]:
        """The hosts of a host list; unusable items become notes and name none."""
        try:
            hosts = expand_hosts(text, min(MOST_HOSTS, self.hosts_left))
        except NetworkError as error:
            items, rest = split_hosts(text)
            if len(items) + bool(rest) > 1 and self._count["hosts"] < _MOST_LISTS:
                return [host for item in filter(None, (*items, rest)) for host in self.hosts(item, where)]
            self.note("hosts", f"{where}: {error} It is left out.")
            return []
        self.hosts_left -= len(hosts)
        return hosts

    def network(self, source: str = "") -> Network:
        """The network of all that was read. source : where it is from; "" if from one description."""
        links = _without_cycles(self) if self.tree else tuple(self.links)
        notes = tuple(_with_count(sentence, self._count[kind] - 1) for kind, sentence in self._notes.items())
        return Network(tuple(self.names), links, self.leaf_of, source or self.source, notes, self.tree)


def _with_count(sentence: str, more: int) -> str:
    if not more:
        return sentence
    return f"{sentence} ({more:,} more {'place is' if more == 1 else 'places are'} like this.)"


def _without_cycles(wiring: Wiring) -> tuple[tuple[int, int], ...]:
    """The links, those turned round that would put a switch above itself: the later ones in the file."""
    links = list(wiring.links)
    if not links:
        return ()
    not_above, not_below = _outside_cycles(links), _outside_cycles([link[::-1] for link in links])
    suspects = [at for at, ends in enumerate(links) if not (not_above | not_below).intersection(ends)]
    above: dict[int, list[int]] = {}
    for at in suspects:
        low, high = links[at]
        in_order = len(suspects) > _MOST_SUSPECTS  # a file of cycles: the order of names will do
        if low > high if in_order else low in _reached(high, above):
            links[at] = (high, low)
            wiring.note(
                "cycles",
                f"{wiring.links[low, high]}: switch {short(wiring.names[low])} is below "
                f"{short(wiring.names[high])}, but also above it; this link is drawn the other way round. "
                "Correct this line.",
            )
        above.setdefault(links[at][0], []).append(links[at][1])
    return tuple(dict.fromkeys(links))


def _outside_cycles(links: Iterable[tuple[int, int]]) -> set[int]:
    """The ends of links that no cycle leads to."""
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for before, behind in links:
        sorter.add(behind, before)
    with suppress(CycleError):  # then it still gives those in front of the cycles
        sorter.prepare()
    found: set[int] = set()
    while ready := sorter.get_ready():
        found.update(ready)
        sorter.done(*ready)
    return found


def _reached(start: int, above: dict[int, list[int]]) -> set[int]:
    """The switches above one."""
    seen, left = {start}, [start]
    while left:
        new = [switch for switch in above.get(left.pop(), ()) if switch not in seen]
        seen.update(new)
        left += new
    return seen
