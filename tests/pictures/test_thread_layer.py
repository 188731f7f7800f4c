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


def picture(values: dict, without: tuple[str, ...] = (), ranks=({"cpuset": "0"}, {"cpuset": "1"}), node=NODE):
    """A picture of two ranks on one node, whose step took 10 s. without : layers, beside messages."""
    entries = [{"host": "n", "boot_id": "b", **rank} for rank in ranks]
    run = SimpleNamespace(
        path=Path(), info={"configuration": {}}, rank_entries=entries, ends={}, communicators=[]
    )
    values = {"step_time_s": np.full(2, 10.0)} | {name: np.array(of) for name, of in values.items()}
    frame = SimpleNamespace(kind="step", label=0, values=values, messages=None, collectives=None)
    scene = topology_scene(run, place(entries, {"n": node}), without=["messages", *without])
    return topology(run, frame, scene)


def test_threads_are_in_the_lower_half_of_their_rank():
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


def marks_of(*ranks: tuple[str, ...]) -> dict[str, list] | None:
    """Of a node of four PUs of width 6: rank, thread, left and lower end, and PUs of each mark."""
    node = Machine(tuple(range(4)), tuple(Part("pu", n, n, n + 1) for n in range(4)))
    whole = ("0-1", "2-3")
    entries = [{"cpuset": whole[n], "cpusets_of_threads": list(sets)} for n, sets in enumerate(ranks)]
    drawn = picture({}, (), entries, node)
    marks = drawn.layers().get("thread_places")
    if marks is None:
        return None
    data, pus = marks.GetCellData(), marks.GetCellData().GetAbstractArray("pus")
    boxes = [marks.GetCell(cell).GetBounds() for cell in range(marks.GetNumberOfCells())]
    for box, rank in zip(boxes, vtk_to_numpy(data.GetArray("rank")).tolist()):
        cell = drawn.ranks.GetCell(rank).GetBounds()
        assert (cell[2] + cell[3]) / 2 < box[2] < box[3] <= cell[3] and box[4] > cell[4]
    return {
        **{name: vtk_to_numpy(data.GetArray(name)).tolist() for name in ("rank", "thread")},
        **{"column": [int(box[0] // 6) for box in boxes], "y": [round(box[2], 3) for box in boxes]},
        **{"width": [round(box[1] - box[0]) for box in boxes]},
        "pus": [pus.GetValue(cell) for cell in range(len(boxes))],
    }


def test_threads_are_marked_below_their_pus():
    marks = marks_of(("0", "1"), ("2-3", "2"))
    assert (marks["rank"], marks["thread"]) == ([0, 0, 1, 1], [0, 1, 0, 1])
    assert marks["column"] == [0, 1, 2, 2]
    assert marks["width"] == [6, 6, 12, 6]
    assert marks["pus"] == ["0", "1", "2-3", "2"]
    side, side_too, upper, lower = marks["y"]
    assert side == side_too and lower < upper  # those of rank 1 have a PU in common


def test_threads_that_may_run_where_all_of_their_rank_may_have_no_marks():
    assert marks_of(("0-1", "0-1"), ("2-3",)) is None
