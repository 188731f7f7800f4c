# SPDX-License-Identifier: BSD-3-Clause
"""The layer of devices in the machine picture."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from known_runs.device_runs import kernel_s, write_device_run

import perfield

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.output.picture_series import PictureSeries
from perfield.pictures import topology, topology_scene
from perfield.topology import Device, Machine, Part, place

GPU = Device("GPU", "0000:3b:00.0", ("card0",), 0, 2)
NIC = Device("network card", "0000:81:00.0", ("mlx5_0",), 2, 4)
PARTS = tuple(Part("package", n, 2 * n, 2 * n + 2) for n in range(2))
NODE = Machine(tuple(range(4)), PARTS + tuple(Part("pu", n, n, n + 1) for n in range(4)), devices=(GPU, NIC))


def picture(ends: dict, values: dict | None = None, **options):
    """A picture of three ranks on one node, whose solve times are 1, 2 and 6 s.

    values : other fields, a value for each rank.
    """
    entries = [{"host": "n", "boot_id": "b", "cpuset": str(rank)} for rank in range(3)]
    run = SimpleNamespace(
        path=Path(), info={"configuration": {}}, rank_entries=entries, ends=ends, communicators=[]
    )
    nothing = np.zeros(
        0, [("source", "i4"), ("target", "i4"), ("call", "U9"), ("count", "u8"), ("bytes", "u8")]
    )
    values = {"solve_time_s": np.array([1.0, 2.0, 6.0]), **(values or {})}
    frame = SimpleNamespace(kind="step", label=0, values=values, messages=nothing, collectives=None)
    return topology(
        run, frame, topology_scene(run, place(entries, {"n": NODE}), without=["messages"], **options)
    )


def texts(dataset, name: str) -> list[str]:
    array = dataset.GetCellData().GetAbstractArray(name)
    return [array.GetValue(n) for n in range(array.GetNumberOfValues())]


def column(dataset, name: str) -> list:
    return vtk_to_numpy(dataset.GetCellData().GetArray(name)).tolist()


def opened(*devices: Device) -> dict:
    return {"devices": [{"file": "/dev/nvidia0", "pci": device.pci} for device in devices]}


def test_devices_hold_the_values_of_the_ranks_that_use_them():
    devices = picture({0: opened(GPU), 2: opened(GPU, NIC)}).devices
    assert texts(devices, "device") == ["nvidia0", "mlx5_0"]
    assert texts(devices, "ranks") == ["0, 2", "2"]
    assert texts(devices, "pci") == [GPU.pci, NIC.pci]
    assert column(devices, "device_type") == [0, 1]
    assert column(devices, "n_ranks") == [2, 1]
    assert column(devices, "solve_time_s") == [3.5, 6]
    assert column(devices, "solve_time_s_rank_max") == [6, 6]
    assert texts(devices, "host") == ["n", "n"]


def test_device_has_the_sum_of_what_its_ranks_do_there_and_the_mean_of_what_they_say_of_it():
    fields = {
        "device_kernel_time_s": np.array([0.25, np.nan, 0.5]),
        "device_own_memory_bytes": np.array([1e9, 2e9, 4e9]),
        "device_memory_bytes": np.array([9e9, 9e9, 9e9]),
        "device_utilisation_share": np.array([0.75, np.nan, 0.75]),
    }
    shown = picture({0: opened(GPU), 1: opened(GPU, NIC), 2: opened(GPU)}, fields)
    assert column(shown.devices, "device_kernel_time_s")[0] == 0.75
    assert np.isnan(column(shown.devices, "device_kernel_time_s")[1])
    assert column(shown.devices, "device_kernel_time_s_rank_max")[0] == 0.5
    assert column(shown.devices, "device_own_memory_bytes") == pytest.approx([7e9, 2e9])
    assert column(shown.devices, "device_memory_bytes") == pytest.approx([9e9, 9e9])
    assert column(shown.devices, "device_utilisation_share")[0] == 0.75
    assert max(column(shown.machine, "device_kernel_time_s")) == 0.5  # parts have means


def test_device_that_no_rank_uses_is_not_drawn():
    assert picture({}).devices.GetNumberOfCells() == 0
    assert texts(picture({1: opened(NIC)}).devices, "device") == ["mlx5_0"]


def test_colours_of_ranks_reach_as_far_as_those_of_devices(tmp_path):
    run = perfield.open(write_device_run(tmp_path / "run"))
    PictureSeries(run, [0, 1, 2], tmp_path / "pictures", None, topology_scene(run)).write()
    layers = json.loads((tmp_path / "pictures/pictures.json").read_text())["layers"]
    ranks, devices = (layers[f"topology/{name}"]["arrays"] for name in ("measurements", "devices"))
    largest = kernel_s(0, 2) + kernel_s(1, 2)
    assert devices["device_kernel_time_s"]["range"][1] == pytest.approx(largest)
    assert ranks["device_kernel_time_s"]["range"][1] < largest <= ranks["device_kernel_time_s"]["scale"][1]
    assert ranks["device_kernel_time_s"]["scale"] == devices["device_kernel_time_s"]["scale"]
    assert ranks["device_utilisation_share"]["scale"] == [0, 1]


def test_devices_do_not_overlap_other_cells():
    shown = picture({0: opened(GPU, NIC)})
    boxes = [shown.devices.GetCell(n).GetBounds() for n in range(2)]
    for n in range(shown.machine.GetNumberOfCells()):
        other = shown.machine.GetCell(n).GetBounds()
        assert all(box[3] < other[2] or other[3] < box[2] for box in boxes)
