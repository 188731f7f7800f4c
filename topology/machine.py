# SPDX-License-Identifier: BSD-3-Clause
"""One computer as the picture needs it: its PUs from left to right, and the parts that span them.

A part is any hardware that holds PUs: package, NUMA node, cache, core. Its span of PUs determines its place,
its width, and which parts lie inside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

LEVELS = ("node", "package", "numa", "l3", "l2", "l1", "core", "pu", "rank", "measurement")
"""Levels of the picture; the index in this tuple is a level's number (`topology_type`) in the datasets."""

HARDWARE_LEVELS = LEVELS[1:8]
DEVICE_KINDS = ("GPU", "network card")


class MachineError(ValueError):
    """The description of a machine is unusable; the text says what is wrong, where, and what to do."""


@dataclass(frozen=True)
class Part:
    """A piece of hardware that holds the PUs first, first + 1, ..., last - 1 (positions, left to right).

    number : counts from 0, left to right; PUs and NUMA nodes have the operating system's number.
    """

    level: str
    number: int
    first: int
    last: int


@dataclass(frozen=True)
class Device:
    """A GPU or network card, near the PUs first, first + 1, ..., last - 1 (positions, left to right).

    kind : one of DEVICE_KINDS. pci : its PCI address, "0000:3b:00.0". names : what the operating system
    calls it, such as renderD128 or mlx5_0.
    """

    kind: str
    pci: str
    names: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True)
class Machine:
    """The parts of one computer.

    pus : the operating system's numbers of the PUs, from left to right; neighbours share the most hardware.
    parts : all parts, level by level from package to pu, from left to right inside a level.
    described : False if only the PUs that ranks were bound to are known.
    devices : its GPUs and network cards, by the PUs that they are near, then by PCI address.
    """

    pus: tuple[int, ...]
    parts: tuple[Part, ...]
    described: bool = True
    devices: tuple[Device, ...] = ()

    @cached_property
    def position(self) -> dict[int, int]:
        """Position (0 is leftmost) of each PU by the operating system's number."""
        return {pu: position for position, pu in enumerate(self.pus)}

    def level(self, name: str) -> tuple[Part, ...]:
        """The parts of one level, from left to right; empty if this machine has no such level."""
        return self._levels.get(name, ())

    @cached_property
    def _levels(self) -> dict[str, tuple[Part, ...]]:
        levels: dict[str, list[Part]] = {}
        for part in self.parts:
            levels.setdefault(part.level, []).append(part)
        return {name: tuple(parts) for name, parts in levels.items()}

    def spans(self, name: str) -> tuple[tuple[int, int], ...]:
        """(first, last) of each part of one level; levels with equal spans look alike."""
        if name == "node":
            return ((0, len(self.pus)),)
        return tuple((part.first, part.last) for part in self.level(name))


def flat_machine(pus: set[int]) -> Machine:
    """A machine with only the known PUs, in a row, marked as not described.

    Without a known PU it has one position that is not a PU.
    """
    numbers = tuple(sorted(pus))
    parts = tuple(Part("pu", pu, position, position + 1) for position, pu in enumerate(numbers))
    return Machine(numbers or (0,), parts, described=False)


def parse_cpuset(text: str) -> tuple[int, ...]:
    """PU numbers of a list such as "0-3,8", ascending.

    Raises MachineError for other text.
    """
    pus: set[int] = set()
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        low, dash, high = piece.partition("-")
        high = high if dash else low
        if not (_is_pu(low) and _is_pu(high) and int(low) <= int(high)):
            raise MachineError(
                f"the CPU set {text!r} has the piece {piece!r}; expected a form such as '0-3,8'."
            )
        pus.update(range(int(low), int(high) + 1))
    return tuple(sorted(pus))


def _is_pu(text: str) -> bool:
    """Whether a text is a PU's number; Linux knows 8,192, and more would only fill memory."""
    return text.isascii() and text.isdigit() and len(text) <= 6
