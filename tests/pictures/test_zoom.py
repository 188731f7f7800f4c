# SPDX-License-Identifier: BSD-3-Clause
"""Zooming into the machine: chosen nodes in full, their partners, and only their messages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from known_runs.many_nodes import large_run, placed
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures import topology, topology_scene
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.zoom import PARTNERS, zoom
from perfield.topology import LEVELS, select


def column(dataset, name: str) -> np.ndarray:
    return vtk_to_numpy(dataset.GetCellData().GetArray(name))


def hosts(part) -> list[str]:
    return [node.host for node in part.placement.nodes]


def test_a_zoom_on_a_node_shows_it_and_its_partners_in_full(tmp_path):
    run = large_run(tmp_path, 100, 4, {83})
    placement = placed(run)
    chosen = select(placement, ["n0020"])
    part = zoom(placement, chosen, run.frames())
    assert hosts(part) == ["n0018", "n0019", "n0020", "n0021", "n0022"]
    assert part.words == "1 node, and the 4 that exchange messages with it"
    scene = topology_scene(run, part.placement, lines=LineChoice(either=chosen))
    picture = topology(run, run.frame(0), scene)
    kinds = {LEVELS[kind] for kind in set(column(picture.machine, "topology_type").tolist())}
    assert {"node", "package", "core", "pu"} <= kinds
    rank, compute = column(picture.measurements, "rank"), column(picture.measurements, "compute_time_s")
    assert rank.tolist() == list(range(72, 92))
    assert rank[np.argmax(compute)] == 83
    ends = set(zip(column(picture.messages, "source").tolist(), column(picture.messages, "target").tolist()))
    assert ends == {(n, n + 1) for n in range(79, 84)} | {
        (n, n + 8) for n in [*range(72, 76), *range(80, 84)]
    }


def test_a_zoom_on_ranks_shows_only_their_messages(tmp_path):
    run = large_run(tmp_path, 100, 4)
    placement = placed(run)
    part = zoom(placement, select(placement, ["81"]), run.frames())
    assert hosts(part) == ["n0018", "n0020", "n0022"]


def test_the_heaviest_partners_are_shown_and_the_others_counted(tmp_path):
    run = large_run(tmp_path, 100, 4)
    frame = run.frame(0)
    frame.messages = frame.messages[:20].copy()
    frame.messages["source"], frame.messages["target"] = 0, np.arange(20) * 4 + 40
    frame.messages["bytes"] = np.arange(20)
    part = zoom(placed(run), select(placed(run), ["n0000"]), [frame])
    assert hosts(part) == ["n0000", *(f"n{n:04d}" for n in range(22, 30))]
    assert part.words == f"1 node, and the {PARTNERS} that exchange most bytes with it, of 20"


def test_ranks_and_messages_that_are_unknown_do_no_harm(tmp_path):
    run = large_run(tmp_path, 10, 4)
    run.rank_entries[4] = None
    frame = run.frame(0)
    frame.messages["target"][:4] = -3
    placement = placed(large_run(tmp_path, 10, 4))
    placement = replace(placement, node_id=np.where(np.arange(40) == 4, -1, placement.node_id))
    part = zoom(placement, select(placement, ["n0001", "4"]), [frame])
    assert "n0001" in hosts(part)


def test_a_zoom_on_a_large_switch_is_an_overview_of_its_nodes(tmp_path):
    run = large_run(tmp_path, 300, 4)
    placement = placed(run, per_leaf=150)
    part = zoom(placement, select(placement, ["leaf1"]), run.frames())
    picture = topology(run, run.frame(0), topology_scene(run, part.placement))
    assert picture.measurements.GetNumberOfCells() == 150 + 4
    assert picture.ranks.GetNumberOfCells() == 0
