# SPDX-License-Identifier: BSD-3-Clause
"""Finds the GPUs and network cards that the ranks of a run use, and places them beside their packages.

A rank uses the devices whose files it has open when its measurement ends. CUDA opens the files of all GPUs
that it may use, so variables such as CUDA_VISIBLE_DEVICES choose among these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .layout import DEVICE_ROW, PLANE_WIDTH, Cells
from .machine import LEVELS, Device
from .placement import Placement

WIDEST = PLANE_WIDTH / 8
_CHOICES = {  # variable -> what the files begin with that it chooses among, by their order
    "CUDA_VISIBLE_DEVICES": "/dev/nvidia",
    "ROCR_VISIBLE_DEVICES": "/dev/dri/",
    "HIP_VISIBLE_DEVICES": "/dev/dri/",
}


@dataclass(frozen=True)
class UsedDevices:
    """The devices that ranks of a run use, by node, then in the order of `Machine.devices`.

    node : int32 (n_devices,), index in placement.nodes. device, name : of each; the name is its file's, or
    what the operating system calls a network card.
    user, rank : int64 (n_pairs,) each; the device with index `user` is used by that rank.
    """

    node: np.ndarray
    device: tuple[Device, ...]
    name: tuple[str, ...]
    user: np.ndarray
    rank: np.ndarray


@dataclass(frozen=True)
class DeviceCells:
    """The places of used devices, float64 (n_devices,) each, as in `Cells`."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    width: np.ndarray


def used_devices(placement: Placement, ends: Mapping[int, Mapping[str, Any]]) -> UsedDevices:
    """The devices that the ranks had open at their ends, as far as their machines describe them.

    ends : the end entry of each rank that has one, with `devices` and `device_choice`.
    """
    found: dict[tuple[int, int], str] = {}  # (node, number in Machine.devices) -> file
    pairs: list[tuple[tuple[int, int], int]] = []
    for rank, end in sorted(ends.items()):
        node = int(placement.node_id[rank]) if 0 <= rank < placement.n_ranks else -1
        opened = _opened(end)
        if node < 0 or not opened:
            continue
        number = {device.pci: n for n, device in enumerate(placement.nodes[node].machine.devices)}
        for pci, file in opened.items():
            if pci in number:
                key = (node, number[pci])
                found.setdefault(key, file)
                pairs.append((key, rank))
    order = {key: index for index, key in enumerate(sorted(found))}
    devices = tuple(placement.nodes[node].machine.devices[number] for node, number in order)
    names = tuple(_name(device, found[key]) for device, key in zip(devices, order))
    node_of = np.array([node for node, _ in order], np.int32)
    user, ranks = np.array([(order[key], rank) for key, rank in pairs], np.int64).reshape(-1, 2).T
    return UsedDevices(node_of, devices, names, user, ranks)


def layout_devices(used: UsedDevices, cells: Cells) -> DeviceCells:
    """Places devices in the row above the packages, each over its own one.

    The devices of a package share its width, up to WIDEST each. cells : from `layout` with `device_row`.
    """
    n_devices = len(used.device)
    columns = DeviceCells(*(np.zeros(n_devices) for _ in range(4)))
    tops = np.flatnonzero(cells.level[cells.machine] == LEVELS.index("node"))
    packages = np.flatnonzero(cells.level[cells.machine] == LEVELS.index("package"))
    groups: dict[int, list[int]] = {}
    for index, (node, device) in enumerate(zip(used.node.tolist(), used.device)):
        middle = (device.first + device.last) / 2 * cells.unit
        own = packages[cells.node[packages] == node]
        near = np.abs(cells.x[own] - middle) <= cells.width[own] / 2
        holder = int(own[near][0]) if near.any() else int(tops[cells.node[tops] == node][0])
        groups.setdefault(holder, []).append(index)
    for holder, mine in groups.items():
        share = cells.width[holder] / len(mine)
        left = cells.x[holder] - cells.width[holder] / 2
        columns.x[mine] = left + share * (np.arange(len(mine)) + 0.5)
        columns.width[mine] = min(share, WIDEST)
        columns.y[mine] = cells.y[tops[cells.node[tops] == cells.node[holder]][0]] - DEVICE_ROW
        columns.z[mine] = cells.z[holder]
    return columns


def _opened(end: Mapping[str, Any]) -> dict[str, str]:
    """PCI address -> file of the devices that a rank uses."""
    listed = end.get("devices")
    known = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, Iterable) else []
    texts = [(str(one.get("pci") or "").lower(), str(one.get("file") or "")) for one in known]
    opened = dict(sorted((pci, file) for pci, file in texts if pci))
    choice = end.get("device_choice")
    for variable, prefix in _CHOICES.items() if isinstance(choice, Mapping) else ():
        among = [pci for pci, file in opened.items() if file.startswith(prefix)]
        words = [word.strip() for word in str(choice.get(variable) or "").split(",")]
        numbers = {int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 6}
        if numbers and max(numbers) < len(among):  # else only the chosen ones are open
            for number in set(range(len(among))) - numbers:
                del opened[among[number]]
    return opened


def _name(device: Device, file: str) -> str:
    """A short name of a device: of a network card as hwloc lists it last, such as mlx5_0, else its file's."""
    own = device.names[-1:] if device.kind != "GPU" else ()
    return own[0] if own else file.rpartition("/")[2] or device.pci
