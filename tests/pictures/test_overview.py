# SPDX-License-Identifier: BSD-3-Clause
"""The overview: one cell per node, one line per pair of nodes or switches, in the same layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from known_runs.many_nodes import large_run, placed
from vtkmodules.util.numpy_support import vtk_to_numpy

from perfield.pictures import topology, topology_scene
from perfield.pictures.line_choice import LineChoice
from perfield.topology import LEVELS, has_cells


def column(dataset, name: str) -> np.ndarray:
    return vtk_to_numpy(dataset.GetCellData().GetArray(name))


def text(dataset, name: str) -> str:
    array = dataset.GetFieldData().GetAbstractArray(name)
    return array.GetValue(0) if array.GetNumberOfValues() else ""


def shown(tmp_path, nodes: int, per_leaf: int = 0, slow=(), per_node: int = 4, **options):
    """The picture of a large run."""
    run = large_run(tmp_path, nodes, per_node, set(slow))
    options = {"overview": True, **options}
    return topology(run, run.frame(0), topology_scene(run, placed(run, per_leaf), **options))


@pytest.mark.parametrize("nodes", [128, 129])
def test_more_than_128_nodes_are_one_cell_each(tmp_path, nodes):
    picture = shown(tmp_path, nodes, overview=None)
    kinds = set(column(picture.machine, "topology_type").tolist())
    if nodes == 128:
        assert LEVELS.index("core") in kinds
        assert picture.measurements.GetNumberOfCells() == 4 * nodes
    else:
        assert kinds == {LEVELS.index("node")}
        assert picture.measurements.GetNumberOfCells() == picture.machine.GetNumberOfCells() == nodes
        assert picture.ranks.GetNumberOfCells() == 0
        assert column(picture.measurements, "n_ranks").tolist() == [4] * nodes


def test_nodes_are_cells_where_ranks_would_be_too_small():
    assert not has_cells(64, 4096) and not has_cells(128, 1024) and not has_cells(1, 4096)
    assert has_cells(65, 1025) and has_cells(129, 129) and has_cells(2, 4097)


def test_overview_is_an_option_for_any_number_of_nodes(tmp_path):
    assert shown(tmp_path, 3, overview=True).measurements.GetNumberOfCells() == 3
    assert shown(tmp_path, 129, overview=False).measurements.GetNumberOfCells() == 516


def test_a_node_shows_the_largest_value_of_its_ranks_and_below_it_the_mean(tmp_path):
    run = large_run(tmp_path, 70, 4, {9})
    values = run.frame(0).values["compute_time_s"]
    values[20:24] = np.nan
    values[24] = np.nan
    picture = topology(run, run.frame(0), topology_scene(run, placed(run), overview=True))
    largest, mean = (column(layer, "compute_time_s") for layer in (picture.measurements, picture.machine))
    by_node = values.reshape(70, 4)
    assert largest[2] == pytest.approx(0.2)
    assert mean[2] == pytest.approx(by_node[2].mean())
    assert np.isnan(largest[5]) and np.isnan(mean[5]), "absent is not zero"
    assert mean[6] == pytest.approx(by_node[6, 1:].mean())
    np.testing.assert_array_equal(column(picture.machine, "compute_time_s_rank_max"), largest)
    for n in range(70):
        above, strip = picture.measurements.GetCell(n).GetBounds(), picture.machine.GetCell(n).GetBounds()
        assert strip[:2] == above[:2]
        assert strip[3] == pytest.approx(above[2], abs=1e-6)


def test_ranks_that_never_checked_in_leave_their_nodes_out(tmp_path):
    run = large_run(tmp_path, 70, 4)
    run.rank_entries[:4] = [None] * 4
    picture = topology(run, run.frame(0), topology_scene(run, overview=True))
    assert picture.measurements.GetNumberOfCells() == 69
    count, size = vtk_to_numpy(picture.messages.GetFieldData().GetArray("messages_not_drawn"))
    # Ranks 0 to 3 send 8 messages; rank 279 and the four ranks of node 68 send them 5.
    assert (count, size) == (13, 1300)


def test_lines_are_sums_over_pairs_of_nodes(tmp_path):
    lines = shown(tmp_path, 66).messages
    found = {
        (int(a), int(b)): (count, size)
        for a, b, count, size in zip(
            *(column(lines, name) for name in ("source_node", "target_node", "sent_count", "sent_bytes"))
        )
    }
    expected = {(n, (n + 1) % 66): (1, 100) for n in range(66)}
    expected |= {(n, (n + 2) % 66): (4, 400) for n in range(66)}
    assert found == expected
    np.testing.assert_array_equal(column(lines, "isend_bytes"), column(lines, "sent_bytes"))
    assert text(lines, "in_words") == "one line per pair of nodes; 38 % of the bytes stay inside a node"


def test_lines_are_between_switches_if_pairs_of_nodes_are_too_many(tmp_path):
    lines = shown(tmp_path, 120, per_leaf=12).messages
    ends = list(zip(*(column(lines, name).tolist() for name in ("source_switch", "target_switch"))))
    assert sorted(ends) == sorted((n, (n + 1) % 10) for n in range(10))
    assert column(lines, "sent_bytes").tolist() == [900.0] * 10, "two nodes of four ranks, and one rank"
    assert column(lines, "hops").tolist() == [3.0] * 10
    assert text(lines, "in_words").startswith("one line per pair of switches; ")


def test_lines_stay_between_nodes_if_switches_are_unknown(tmp_path):
    lines = shown(tmp_path, 120).messages
    assert lines.GetNumberOfCells() == 200
    assert lines.GetCellData().GetArray("source_node")
    assert "200 of 240 lines drawn" in text(lines, "in_words")
    assert vtk_to_numpy(lines.GetFieldData().GetArray("lines_left_out")).tolist() == [40]


def test_a_line_and_the_one_back_do_not_cover_each_other(tmp_path):
    run = large_run(tmp_path, 70, 4)
    frame = run.frame(0)
    frame.messages = frame.messages[:2].copy()
    frame.messages["source"], frame.messages["target"] = [0, 40], [40, 0]
    lines = topology(run, frame, topology_scene(run, placed(run), overview=True)).messages
    points = vtk_to_numpy(lines.GetPoints().GetData())
    there, back = points[:2], points[2:][::-1]
    thickest = vtk_to_numpy(lines.GetPointData().GetArray("radius")).max()
    assert (np.linalg.norm(there - back, axis=1) > 2 * thickest).all()


def test_other_peers_in_the_next_frame_give_other_lines(tmp_path):
    run = large_run(tmp_path, 70, 4)
    scene = topology_scene(run, placed(run), overview=True)
    first, later = run.frame(0), replace(run.frame(0), messages=run.frame(0).messages[:1].copy())
    later.messages["source"], later.messages["target"] = 4, 44
    assert topology(run, first, scene).messages.GetNumberOfCells() == 140
    lines = topology(run, later, scene).messages
    assert column(lines, "source_node").tolist() == [1]
    assert column(lines, "target_node").tolist() == [11]
    assert topology(run, first, scene).messages.GetNumberOfCells() == 140


def test_chosen_messages_alone_become_lines(tmp_path):
    senders = np.zeros(280, bool)
    senders[12] = True
    lines = shown(tmp_path, 70, lines=LineChoice(senders=senders, words="only from rank 12")).messages
    assert column(lines, "source_node").tolist() == [3]
    assert column(lines, "target_node").tolist() == [5]
    assert "only from rank 12" in text(lines, "in_words")


def test_cells_carry_node_switch_and_words(tmp_path):
    picture = shown(tmp_path, 100, per_leaf=9)
    for layer in (picture.machine, picture.measurements):
        assert column(layer, "node_id").tolist() == list(range(100))
        texts = [layer.GetCellData().GetAbstractArray(name) for name in ("host", "switch")]
        assert [array.GetValue(20) for array in texts] == ["n0020", "leaf2"]
    assert picture.planes.GetNumberOfCells() == 12, "a plane behind each switch"
    assert picture.labels.GetNumberOfCells() > 0, "the switches' names"


def test_all_layers_say_the_node_at_their_points(tmp_path):
    picture = shown(tmp_path, 100, per_leaf=9)
    for name, layer in picture.layers().items():
        if layer.GetNumberOfCells() and name != "labels":
            node = vtk_to_numpy(layer.GetPointData().GetArray("node_id"))
            assert len(node) == layer.GetNumberOfPoints()
            assert 0 <= node.min() <= node.max() <= 99, name


def test_switches_are_bars_above_their_nodes_with_the_values_below_them(tmp_path):
    run = large_run(tmp_path, 100, 4, {80})
    picture = topology(run, run.frame(0), topology_scene(run, placed(run, per_leaf=10), overview=True))
    values = run.frame(0).values["compute_time_s"].reshape(10, 40)
    assert column(picture.switches, "compute_time_s") == pytest.approx(values.mean(axis=1))
    assert column(picture.switches, "compute_time_s_rank_max") == pytest.approx(values.max(axis=1))
    assert column(picture.switches, "n_nodes").tolist() == [10] * 10
    assert column(picture.switches, "level").tolist() == [0] * 10
    texts = picture.switches.GetCellData().GetAbstractArray("switch")
    assert [texts.GetValue(n) for n in range(10)] == [f"leaf{n}" for n in range(10)]
    for n in range(100):
        bar, cell = picture.switches.GetCell(n // 10), picture.measurements.GetCell(n)
        assert bar.GetBounds()[2] > cell.GetBounds()[3]
        assert bar.GetBounds()[0] < cell.GetBounds()[0] < cell.GetBounds()[1] < bar.GetBounds()[1] + 0.01


def test_layers_can_be_left_out_of_an_overview(tmp_path):
    layers = shown(tmp_path, 70, without=("messages", "planes")).layers()
    assert set(layers) == {
        "machine",
        "ranks",
        "measurements",
        "labels",
        "switches",
        "links",
        "devices",
        "collectives",
    }
