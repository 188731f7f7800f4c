# SPDX-License-Identifier: BSD-3-Clause
"""The layer of threads in the machine picture."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures import topology, topology_scene
from perfield.topology import Machine, Part, place

NODE = Machine((0, 1), tuple(Part("pu", n, n, n + 1) for n in range(2)))
NAN = float("nan")


def picture(values: dict, without: tuple[str, ...] = ()):
    """A picture of two ranks on one node, whose step took 10 s. without : layers, beside messages."""
    entries = [{"host": "n", "boot_id": "b", "cpuset": str(rank)} for rank in range(2)]
    run = SimpleNamespace(
        path=Path(), info={"configuration": {}}, rank_entries=entries, ends={}, communicators=[]
    )
    values = {"step_time_s": np.full(2, 10.0)} | {name: np.array(of) for name, of in values.items()}
    frame = SimpleNamespace(kind="step", label=0, values=values, messages=None, collectives=None)
    scene = topology_scene(run, place(entries, {"n": NODE}), without=["messages", *without])
    return topology(run, frame, scene)


def test_threads_stand_in_the_lower_half_of_their_rank():
    times = {
        "parallel": [[6.0, 5.0], [3.0, 4.0], [NAN, 2.0]],
        "barrier": [[0.0, 1.0], [4.0, 2.0], [NAN, 7.0]],
    }
    drawn = picture(
        {f"thread_{n}_{kind}_time_s": of for kind, rows in times.items() for n, of in enumerate(rows)}
    )
    threads, of_ranks = drawn.layers()["threads"], drawn.measurements
    data = threads.GetCellData()
    column = {name: vtk_to_numpy(data.GetArray(name)).tolist() for name in ("rank", "thread")}
    assert column == {"rank": [0, 0, 1, 1, 1], "thread": [0, 1, 0, 1, 2]}
    assert vtk_to_numpy(data.GetArray("thread_barrier_time_s")).tolist() == [0, 4, 1, 2, 7]
    assert vtk_to_numpy(data.GetArray("thread_other_time_s")).tolist() == [4, 3, 4, 4, 1]
    assert np.isnan(vtk_to_numpy(data.GetArray("thread_cpu_time_s"))).all()
    for cell, rank in enumerate(column["rank"]):
        inner, outer = threads.GetCell(cell).GetBounds(), of_ranks.GetCell(rank).GetBounds()
        assert outer[0] <= inner[0] < inner[1] <= outer[1] + 0.1
        assert inner[3] <= (outer[2] + outer[3]) / 2


def test_a_run_without_threads_has_no_such_layer():
    assert "threads" not in picture({}).layers()


def test_threads_can_be_left_out():
    values = {"thread_0_parallel_time_s": [1.0, 2.0]}
    assert "threads" in picture(values).layers()
    assert "threads" not in picture(values, ("threads",)).layers()
