# SPDX-License-Identifier: BSD-3-Clause
"""GPUs and network cards: where they hang in the machine, which ranks use them, and where they are drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfield.topology import (
    LEVELS,
    Device,
    Machine,
    Part,
    layout,
    layout_devices,
    place,
    read_machine,
    used_devices,
)

REAL_MACHINES = Path(__file__).resolve().parents[2] / "../shared/machines"
PU = '<object type="Core"><object type="PU" os_index="{}"/></object>'


def card(pci: str, kind: str, osdev_type: int, *names: str) -> str:
    """A bridge with a card below it, as hwloc writes them."""
    inside = "".join(f'<object type="OSDev" name="{name}" osdev_type="{osdev_type}"/>' for name in names)
    below = f'<object type="PCIDev" pci_busid="{pci}" pci_type="{kind} [10de:1db1] [10de:1212] a1">{inside}'
    return f'<object type="Bridge" bridge_type="0-1"><object type="Bridge">{below}</object></object></object>'


def machine(tmp_path: Path, inside: str, version: str = ' version="2.0"') -> Machine:
    path = tmp_path / "machine.xml"
    path.write_text(f'<topology{version}><object type="Machine">{inside}</object></topology>')
    return read_machine(path)


@pytest.mark.parametrize(("version", "gpu"), [("", 5), (' version="2.0"', 1), (' version="3.0"', 4)])
def test_cards_hang_at_the_pus_of_the_object_above_their_bridges(tmp_path, version, gpu):
    package = "Package" if version else "Socket"
    text = "".join(
        f'<object type="{package}">{PU.format(n)}{PU.format(n + 2)}{cards}</object>'
        for n, cards in enumerate(
            [
                card("0000:3B:00.0", "0207", 3, "ib0", "mlx5_0") + card("0000:01:00.0", "0106", 0, "sda"),
                card("0000:af:00.0", "0302", gpu, "card0"),
            ]
        )
    )
    found = machine(tmp_path, text + card("0000:e1:00.0", "1200", gpu), version).devices
    assert found == (
        Device("GPU", "0000:e1:00.0", (), 0, 4),
        Device("network card", "0000:3b:00.0", ("ib0", "mlx5_0"), 0, 2),
        Device("GPU", "0000:af:00.0", ("card0",), 2, 4),
    )


def test_card_below_a_group_without_pus_belongs_to_the_object_around_it(tmp_path):
    group = f'<object type="Group">{card("0:1", "0302", 1)}</object>'
    text = f'<object type="Package">{PU.format(0)}{group}</object>'
    assert [(device.first, device.last) for device in machine(tmp_path, text).devices] == [(0, 1)]


@pytest.mark.parametrize(
    ("name", "gpus", "packages"),
    [
        ("power9-2x20-4v100-lassen.xml", ["0004:04:00.0", "0004:05:00.0", "0035:03:00.0", "0035:04:00.0"], 2),
        ("sierra-node0-hwloc1.xml", ["0004:04:00.0", "0004:05:00.0", "0035:03:00.0", "0035:04:00.0"], 2),
    ],
)
def test_gpus_of_real_machines_hang_at_their_packages(name, gpus, packages):
    if not (REAL_MACHINES / name).exists():
        pytest.skip("the files of real machines are not here")
    described = read_machine(REAL_MACHINES / name)
    found = {device.pci: device for device in described.devices if device.kind == "GPU"}
    for number, pci in enumerate(gpus):
        package = described.level("package")[number * packages // len(gpus)]
        assert package.first <= found[pci].first < found[pci].last <= package.last
    assert "mlx5_0" in {name for device in described.devices for name in device.names}


def test_gpus_of_an_epyc_hang_at_its_caches():
    path = REAL_MACHINES / "epyc7a53-1x64-8mi250-tioga.xml"
    if not path.exists():
        pytest.skip("the files of real machines are not here")
    described = read_machine(path)
    gpus = [device for device in described.devices if device.kind == "GPU"]
    assert len({(gpu.first, gpu.last) for gpu in gpus}) == len(gpus) == 8
    assert {(gpu.first, gpu.last) for gpu in gpus} <= set(described.spans("l3"))


PCI = [f"0000:{n:02x}:00.0" for n in range(4)]
GPUS = tuple(Device("GPU", pci, (f"card{n}",), 4 * (n // 2), 4 * (n // 2) + 4) for n, pci in enumerate(PCI))
NIC = Device("network card", "0000:81:00.0", ("ib0", "mlx5_0"), 4, 8)
NODE = Machine(
    tuple(range(8)),
    tuple(Part("package", n, 4 * n, 4 * n + 4) for n in range(2))
    + tuple(Part("pu", n, n, n + 1) for n in range(8)),
    devices=(*GPUS, NIC),
)
FILES = [{"file": f"/dev/nvidia{n}", "pci": pci} for n, pci in enumerate(PCI)]


def placed(*hosts: str):
    ranks = [{"host": host, "boot_id": host, "cpuset": str(n)} for n, host in enumerate(hosts)]
    return place(ranks, dict.fromkeys(hosts, NODE))


def users(ends: dict, *hosts: str) -> list[tuple[str, int]]:
    used = used_devices(placed(*hosts), ends)
    return sorted((used.name[user], int(rank)) for user, rank in zip(used.user, used.rank))


def test_rank_uses_the_devices_that_it_has_open():
    card_open = {"file": "/dev/infiniband/uverbs0", "pci": NIC.pci}
    ends = {
        0: {"devices": [FILES[0], card_open]},
        1: {"devices": [FILES[2], card_open, {"file": "/dev/kfd"}]},
    }
    expected = [("mlx5_0", 0), ("mlx5_0", 1), ("nvidia0", 0), ("nvidia2", 1)]
    assert users(ends, "a", "a") == expected
    used = used_devices(placed("a", "b"), ends)
    assert used.node.tolist() == [0, 0, 1, 1]
    assert used.name == ("nvidia0", "mlx5_0", "nvidia2", "mlx5_0")


@pytest.mark.parametrize(
    ("opened", "choice", "expected"),
    [
        (FILES, {"CUDA_VISIBLE_DEVICES": "3,1"}, ["nvidia1", "nvidia3"]),
        (FILES[2:], {"CUDA_VISIBLE_DEVICES": "0"}, ["nvidia2"]),  # a job that sees only two
        (FILES[3:], {"CUDA_VISIBLE_DEVICES": "3"}, ["nvidia3"]),
        (FILES, {"CUDA_VISIBLE_DEVICES": "GPU-1b2c"}, ["nvidia0", "nvidia1", "nvidia2", "nvidia3"]),
        (FILES[:2], {"ROCR_VISIBLE_DEVICES": "0"}, ["nvidia0", "nvidia1"]),
    ],
)
def test_variables_choose_among_open_gpus(opened, choice, expected):
    ends = {0: {"devices": opened, "device_choice": choice}}
    assert [name for name, _ in users(ends, "a")] == expected


@pytest.mark.parametrize(
    "end",
    [
        {},
        {"devices": 5},
        {"devices": "x"},
        {"devices": [None, {}, {"pci": 3}]},
        {"devices": [{"file": "/dev/nvidia9", "pci": "0000:99:00.0"}]},  # not in the machine's description
        {"devices": FILES[:0], "device_choice": [1]},
    ],
)
def test_odd_end_entries_give_no_devices(end):
    assert users({0: end, 7: {"devices": FILES}}, "a") == []


def test_devices_are_in_a_row_of_their_own_over_their_package():
    placement = placed("a", "b", "a", "a", "a")  # PUs 0, 2, 3 and 4 of a, and 1 of b
    ends = {0: {"devices": FILES[:3]}, 1: {"devices": FILES[2:3]}}
    cells, used = layout(placement, 10, device_row=True), used_devices(placement, ends)
    places = layout_devices(used, cells)
    height = {LEVELS[level]: y for level, y in zip(cells.level, cells.y)}
    assert places.y == pytest.approx(height["package"] + 1)
    assert places.y.max() + 1 < height["node"]
    assert places.z.tolist() == [0, 0, 0, 10]
    left, right = places.x - places.width / 2, places.x + places.width / 2
    assert 0 <= left[0] < right[0] <= left[1] < right[1] <= 12, "two over the first package"
    assert 12 <= left[2] < right[2] <= 24
    bare = layout(placement, 10)
    assert bare.y.max() == height["package"] + 1, "without devices there is no row"
    np.testing.assert_array_equal(bare.x, cells.x)
