# SPDX-License-Identifier: BSD-3-Clause
"""Machines with devices, and runs whose ranks compute on them, written by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path

from twins import twin

_MACHINE = Path(__file__).parents[1] / "fixtures/machines/two-packages-4-cores.xml"
# PCI class and kernel's name of the devices of each package.
DEVICES = {
    0: (("0000:3b:00.0", "0302", ""), ("0000:3c:00.0", "0207", "mlx5_0")),
    1: (("0000:af:00.0", "0302", ""),),
}
# What ranks measure of their devices: (name, unit, scope, over threads, over steps).
QUANTITIES = (
    ("device_kernel_time", "ns", "rank", "sum", "sum"),
    ("device_own_memory", "B", "rank", "max", "max"),
    ("device_memory", "B", "rank", "max", "max"),
    ("device_utilisation", "ppm", "rank", "max", "last"),
)
GB = 10**9
FIRST, SECOND = (of_package[0][0] for of_package in DEVICES.values())  # the GPUs
OPENED = {0: (FIRST,), 1: (FIRST,), 2: (SECOND,)}  # and rank 3 computes on none


def machine_with_devices() -> str:
    """A machine's file, as text: two packages of 4 cores, with DEVICES."""
    tree = ElementTree.parse(_MACHINE)
    packages = [part for part in tree.iter("object") if part.get("type") == "Package"]
    for number, package in enumerate(packages):
        for at, (address, kind, name) in enumerate(DEVICES[number]):
            index = 1000 + 100 * number + 10 * at
            bus = address[5:7]
            about = {"bridge_type": "0-1", "depth": "0", "bridge_pci": f"0000:[{bus}-{bus}]"}
            bridge = ElementTree.SubElement(package, "object", type="Bridge", gp_index=str(index), **about)
            about = {
                "pci_busid": address,
                "pci_type": f"{kind} [15b3:101b] [15b3:0007] 00",
                "pci_link_speed": "0",
            }
            card = ElementTree.SubElement(bridge, "object", type="PCIDev", gp_index=str(index + 1), **about)
            if name:
                about = {"gp_index": str(index + 2), "name": name, "osdev_type": "3"}
                ElementTree.SubElement(card, "object", type="OSDev", **about)
    return ElementTree.tostring(tree.getroot(), encoding="unicode")


def kernel_s(rank: int, step: int) -> float:
    """Time of kernels of a rank that uses a device, in the runs of `write_device_run`."""
    return (10 + rank + step) * 1e-3


def write_device_run(
    path: Path,
    opened: Mapping[int, Sequence[str]] = OPENED,
    cpusets: Sequence[str] = ("0", "1", "4", "5"),
    machine: str | None = None,
    steps: int = 3,
) -> Path:
    """Writes a run on one host; a rank that uses devices has 2 GB on them, and each device 9 GB in all.

    opened : the PCI addresses of the devices of each rank that uses some. cpusets : of each rank.
    machine : an XML file of hwloc, as text; None: `machine_with_devices()`. Returns path.
    """

    def bind(rank: int, values: dict) -> None:
        values["cpuset"] = cpusets[rank]
        values["sources"] = ["pmpi", "api", *(("cupti", "nvml") if rank in opened else ())]

    def compute(rank: int, step: int, values: dict) -> None:
        reported = (round(kernel_s(rank, step) * 1e9), 2 * GB, 9 * GB, 750_000)
        known = {number: value for number, value in enumerate(reported)} if rank in opened else {}
        values["quantities"] = [
            {"region": twin.OF_RANK, "quantity": number, "value": value} for number, value in known.items()
        ]

    def end(rank: int, values: dict) -> None:
        if rank in opened:
            files = enumerate(sorted({pci for of_rank in opened.values() for pci in of_rank}))
            number = {pci: n for n, pci in files}
            values["devices"] = [{"file": f"/dev/nvidia{number[pci]}", "pci": pci} for pci in opened[rank]]

    twin.write_run(
        path,
        len(cpusets),
        steps,
        quantities=QUANTITIES,
        without_quantities=[rank for rank in range(len(cpusets)) if rank not in opened],
        change_rank=bind,
        change_step=compute,
        change_end=end,
    )
    (path / "machine" / "node0-node0-00.xml").write_text(machine or machine_with_devices())
    return path
