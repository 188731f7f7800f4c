# SPDX-License-Identifier: BSD-3-Clause
"""One computer as the picture needs it: its PUs from left to right, and the parts that span them.

A part is anything of the hardware that holds PUs (package, NUMA node, cache, core). Its span of PUs says
all that the picture asks: where it stands, how wide it is, and what lies inside what.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

LEVELS = ("node", "package", "numa", "l3", "l2", "l1", "core", "pu", "rank", "measurement")
"""Levels of the picture; a level's place in this tuple is its number (`topology_type`) in the datasets."""

HARDWARE_LEVELS = LEVELS[1:8]


class MachineError(ValueError):
    """A description of a machine that cannot be used; the text says what, where, and what to do."""


@dataclass(frozen=True)
class Part:
    """A piece of hardware that holds the PUs first, first + 1, ..., last - 1 (positions, left to right).

    number : counts from 0 from left to right; for PUs and NUMA nodes it is the operating system's number.
    """

    level: str
    number: int
    first: int
    last: int


@dataclass(frozen=True)
class Machine:
    """The parts of one computer.

    pus : the operating system's numbers of the PUs, from left to right; neighbours share the most hardware.
    parts : all parts, level by level from package to pu, from left to right inside a level.
    described : False if nothing is known but the PUs that ranks were bound to.
    """

    pus: tuple[int, ...]
    parts: tuple[Part, ...]
    described: bool = True

    @cached_property
    def position(self) -> dict[int, int]:
        """Position (0 is leftmost) of each PU by the operating system's number."""
        return {pu: position for position, pu in enumerate(self.pus)}

    def level(self, name: str) -> tuple[Part, ...]:
        """The parts of one level, from left to right; empty if this machine has no such level."""
        return tuple(part for part in self.parts if part.level == name)

    def spans(self, name: str) -> tuple[tuple[int, int], ...]:
        """(first, last) of each part of one level; two levels with equal spans would look alike."""
        if name == "node":
            return ((0, len(self.pus)),)
        return tuple((part.first, part.last) for part in self.level(name))


def flat_machine(pus: set[int]) -> Machine:
    """A machine of which only some PUs are known: a row of PUs, marked as not described. Where none is known,
    it has one position that is no PU."""
    numbers = tuple(sorted(pus))
    parts = tuple(Part("pu", pu, position, position + 1) for position, pu in enumerate(numbers))
    return Machine(numbers or (0,), parts, described=False)


def parse_cpuset(text: str) -> tuple[int, ...]:
    """PU numbers of a list such as "0-3,8", ascending.

    Raises MachineError if the text is anything else.
    """
    pus: set[int] = set()
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        low, dash, high = piece.partition("-")
        high = high if dash else low
        if not (low.isdigit() and high.isdigit() and int(low) <= int(high)):
            raise MachineError(
                f"the CPU set {text!r} has the piece {piece!r}; expected a form such as '0-3,8'."
            )
        pus.update(range(int(low), int(high) + 1))
    return tuple(sorted(pus))
