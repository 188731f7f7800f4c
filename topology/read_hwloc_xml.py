# SPDX-License-Identifier: BSD-3-Clause
"""Reads machines from the XML of hwloc 1, 2 and 3 (lstopo --of xml), with only the standard library.

The versions differ in names (Socket, Cache with a depth) and in the place of NUMA nodes: inside the tree in
version 1, beside the PUs that they serve since version 2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from perfield.catalyst_scripts.safe_open import safe_read

from .machine import DEVICE_KINDS, HARDWARE_LEVELS, Device, Machine, MachineError, Part

_LEVEL_OF_TYPE = {
    "Package": "package",
    "Socket": "package",
    "NUMANode": "numa",
    "L3Cache": "l3",
    "L2Cache": "l2",
    "L1Cache": "l1",
    "Core": "core",
    "PU": "pu",
}
MOST_BYTES = 1 << 26  # of an XML file; 1,024 PUs with all devices have 2 MB
_WITHOUT_PUS = {"Bridge", "PCIDev", "OSDev"}
_INSTRUCTION_CACHE = "2"
_KIND_OF_PCI_CLASS = {"03": "GPU", "12": "GPU", "02": "network card"}  # the class' first two digits


def read_machine(xml_path: str | Path, below: str | Path | None = None) -> Machine:
    """The machine that an hwloc XML file describes. below : the run directory that holds the file.

    Raises MachineError if the file is not XML, not from hwloc, or names no PUs; OSError if reading fails.
    """
    path = Path(xml_path)
    try:
        root = ElementTree.fromstring(safe_read(path, below, MOST_BYTES))
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # the last two: of its encoding
        raise MachineError(
            f"{path} is not XML ({error}); expected what `lstopo --of xml` writes. Export the machine again."
        ) from None
    if root.tag != "topology":
        raise MachineError(
            f"{path} begins with <{root.tag}>, expected <topology>; is it what `lstopo --of xml` writes?"
        )
    found = _Parts(path)
    try:
        for child in root.iter("object"):
            found.visit(child)
            break
    except RecursionError:
        raise MachineError(
            f"{path} nests its objects deeper than any machine; expected what `lstopo --of xml` writes. "
            "Export the machine again."
        ) from None
    return replace(found.machine(), devices=found.devices())


def read_machines(
    directory: str | Path, below: str | Path | None = None
) -> tuple[dict[str, Machine], list[str]]:
    """The machines of all <name>.xml in a directory, by name, and a sentence for each unusable file.

    below : the run directory that holds it.

    Equal machines become one object, so a cluster of thousands of equal nodes is laid out once.
    """
    machines: dict[str, Machine] = {}
    shared: dict[Machine, Machine] = {}
    notes = []
    for path in sorted(Path(directory).glob("*.xml")):
        if path.name.startswith("."):  # still being written
            continue
        try:
            machine = read_machine(path, below)
        except (MachineError, OSError) as error:
            notes.append(f"the machine of host {path.stem} is drawn without its hardware: {error}")
            continue
        machines[path.stem] = shared.setdefault(machine, machine)
    return machines, notes


class _Parts:
    """Collects PUs and parts on a walk through the tree of objects."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pus: list[int] = []
        self.spans: dict[str, dict[tuple[int, int], int | None]] = {level: {} for level in HARDWARE_LEVELS}
        self._without_place: list[ElementTree.Element] = []  # bridges and cards below no object with PUs yet
        self._devices: list[Device] = []

    def devices(self) -> tuple[Device, ...]:
        """GPUs and network cards, by the PUs that they are near, then by PCI address."""
        return tuple(sorted(self._devices, key=lambda device: (device.first, -device.last, device.pci)))

    def visit(self, element: ElementTree.Element) -> None:
        """Adds an object and its children; what has no PUs of its own takes its parent's."""
        kind = element.get("type", "")
        if kind in _WITHOUT_PUS:
            self._without_place.append(element)
            return
        first = len(self.pus)
        if kind == "PU":
            self.pus.append(self._os_index(element))
        for child in element.iterfind("object"):
            self.visit(child)
        if len(self.pus) == first:
            return
        span = (first, len(self.pus))
        for inside in self._without_place:
            self._devices += _devices_in(inside, span)
        self._without_place = []
        for memory in _memory_below(element):
            self._add("numa", span, memory)
        self._add(_level(element), span, element)

    def _add(self, level: str | None, span: tuple[int, int], element: ElementTree.Element) -> None:
        if level is not None:
            number = self._os_index(element) if level in ("numa", "pu") else None
            self.spans[level].setdefault(span, number)

    def _os_index(self, element: ElementTree.Element) -> int:
        text = element.get("os_index", "")
        number = _number(text)
        if number is None:
            raise MachineError(
                f"{self.path} has a {element.get('type')} with os_index {text[:40]!r}, expected a number. "
                "Export the machine again with `lstopo --of xml`."
            )
        return number

    def machine(self) -> Machine:
        """The machine made of all parts. Raises MachineError if its PUs are missing or ambiguous."""
        if not self.pus:
            raise MachineError(
                f"{self.path} names no PU, expected at least one. Export the machine again, without filters."
            )
        if len(set(self.pus)) != len(self.pus):
            raise MachineError(
                f"{self.path} has {len(self.pus)} PUs with only {len(set(self.pus))} different os_index. "
                "Export the machine again with `lstopo --of xml`."
            )
        self.spans["numa"] = _innermost(self.spans["numa"])
        parts = [
            Part(level, order if number is None else number, *span)
            for level in HARDWARE_LEVELS
            for order, (span, number) in enumerate(
                sorted(self.spans[level].items(), key=lambda item: item[0])
            )
        ]
        return Machine(tuple(self.pus), tuple(parts))


def _devices_in(element: ElementTree.Element, span: tuple[int, int]) -> list[Device]:
    """The GPUs and network cards among a bridge, or a card, and all below it. span : the PUs that are near.

    hwloc 3 numbers the types of its OSDev objects otherwise than hwloc 1 and 2 do. The PCI class is the same.
    """
    found = []
    for card in element.iter("object"):
        kind = _KIND_OF_PCI_CLASS.get(card.get("pci_type", "")[:2])
        if card.get("type") == "PCIDev" and kind in DEVICE_KINDS:
            inside = (*card.iterfind("object"), *card.iterfind("object/object"))
            names = (object.get("name", "") for object in inside if object.get("type") == "OSDev")
            found.append(Device(kind, card.get("pci_busid", "").lower(), tuple(filter(None, names)), *span))
    return found


def _number(text: str) -> int | None:
    """A number of the operating system; None if the text is something else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _level(element: ElementTree.Element) -> str | None:
    """The level of an object; None if the picture leaves it out: groups, dies, the machine."""
    kind = element.get("type", "")
    if kind == "Cache" and element.get("cache_type") != _INSTRUCTION_CACHE:
        level = f"l{element.get('depth')}"
        return level if level in HARDWARE_LEVELS else None
    return _LEVEL_OF_TYPE.get(kind)


def _memory_below(element: ElementTree.Element) -> list[ElementTree.Element]:
    """NUMA nodes that are memory of this object, also behind a memory-side cache, ordered by number.

    Leaves out nodes without near PUs, such as the memory of accelerators.
    """
    found = []
    for child in element.iterfind("object"):
        if child.get("type") == "MemCache":
            found.extend(_memory_below(child))
        elif child.get("type") == "NUMANode" and child.find("object") is None and _has_pus(child):
            found.append(child)
    return sorted(found, key=lambda node: _number(node.get("os_index", "")) or 0)


def _has_pus(element: ElementTree.Element) -> bool:
    """Whether the CPU set of an object has any bit; it may have several words, such as 0x0,0x1."""
    return bool(set(element.get("cpuset", "1")) - set("0x,"))


def _innermost(spans: dict[tuple[int, int], int | None]) -> dict[tuple[int, int], int | None]:
    """Leaves out spans that contain another one: they would be drawn over several NUMA nodes."""
    innermost = set()
    nearest = math.inf  # end of a span that begins at the present one or behind it
    for first, last in sorted(spans, key=lambda span: (-span[0], span[1])):
        if last < nearest:
            innermost.add((first, last))
            nearest = last
    return {span: number for span, number in spans.items() if span in innermost}
