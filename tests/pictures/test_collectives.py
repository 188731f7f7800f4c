# SPDX-License-Identifier: BSD-3-Clause
"""The layer of collective operations in the machine picture."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from known_runs import collective_runs
from vtkmodules.util.numpy_support import vtk_to_numpy

import perfield
from perfield.commands._machine import communicators_with_most
from perfield.pictures import topology, topology_scene
from perfield.pictures.collectives import GETS, GIVES, IS_RAIL, ROWS, rows_of
from perfield.run.collectives import communicators_of
from twins import twin


def layer(path, overview: bool | None = None, described=collective_runs.descriptions, **options):
    """The layer of the first step, and its scene."""
    options = {"hosts": ("a", "b"), **options}
    run = perfield.open(collective_runs.write_run(path / "run", described, **options))
    scene = topology_scene(run, overview=overview)
    return topology(run, run.frame(0), scene).layers()["collectives"], scene


def column(dataset, name: str) -> np.ndarray:
    return vtk_to_numpy(dataset.GetCellData().GetArray(name))


def text(dataset, name: str) -> list[str]:
    array = dataset.GetFieldData().GetAbstractArray(name)
    return [array.GetValue(n) for n in range(array.GetNumberOfValues())]


def test_bars_hold_the_bytes_that_each_rank_gives_and_gets(tmp_path):
    shown, _ = layer(tmp_path)
    assert text(shown, "row_names") == [
        "MPI_COMM_WORLD", "rows (2 communicators of 4 ranks)", "4 communicators of 2 ranks",
    ]  # fmt: skip
    way, row, rank = (column(shown, name) for name in ("direction", "row", "rank"))
    size = column(shown, "collective_bytes")
    assert size[(way == GIVES) & (row == 1)].tolist() == [8_000 * (rank + 1) for rank in range(8)]
    assert size[(way == GETS) & (row == 1)].tolist() == [9_000] * 8
    assert rank[(way == GIVES) & (row == 2)].tolist() == list(range(8))
    calls = text(shown, "call_names")
    assert {calls[n] for n in column(shown, "call")[(way == GIVES) & (row == 0)]} == {"allreduce"}
    assert np.isnan(size[way == IS_RAIL]).all() and (rank[way == IS_RAIL] == -1).all()
    (words,) = text(shown, "in_words")
    assert "MPI_COMM_WORLD: allreduce 384 B" in words and "alltoall 360 kB" in words


def test_bars_are_below_their_ranks_and_below_all_messages(tmp_path):
    shown, scene = layer(tmp_path)
    way = column(shown, "direction")
    for way_of_bar, sign in ((GIVES, 1), (GETS, -1)):
        bars = np.flatnonzero(way == way_of_bar)
        for cell in bars:
            box = shown.GetCell(int(cell)).GetBounds()
            rank, row = column(shown, "rank")[cell], column(shown, "row")[cell]
            assert box[0] < scene.cells.line_x[rank] < box[1]
            assert box[3] < -scene.comm_offset
            middle = scene.collectives.heights[row]
            assert (box[2] + box[3]) / 2 * sign > middle * sign
    assert shown.GetBounds()[2] >= -scene.comm_offset - scene.collectives.depth - 1e-5


def test_longer_bars_carry_more_bytes(tmp_path):
    shown, _ = layer(tmp_path)
    gives = np.flatnonzero((column(shown, "direction") == GIVES) & (column(shown, "row") == 1))
    lengths = [np.diff(shown.GetCell(int(cell)).GetBounds()[2:4])[0] for cell in gives]
    assert lengths == sorted(lengths) and lengths[0] < lengths[-1]


def test_rails_join_only_the_ranks_of_one_communicator(tmp_path):
    shown, _ = layer(tmp_path)
    rails = np.flatnonzero(column(shown, "direction") == IS_RAIL)
    rows = column(shown, "row")[rails]
    lines = shown.GetNumberOfLines()
    # The world: two nodes and a line. Rows: one rail each. Columns: a rail per rank, and a line each.
    assert [int((rows == row).sum()) for row in range(3)] == [3, 2, 8 + 4]
    assert lines == 1 + 4
    nodes = vtk_to_numpy(shown.GetPointData().GetArray("node_id"))
    assert nodes[: 2 * lines].reshape(-1, 2).tolist() == [[0, 1]] * 5


def test_there_is_no_rail_where_another_communicator_lies_between(tmp_path):
    shown, _ = layer(tmp_path, hosts=("a",))  # columns are 0 and 4, 1 and 5, ...
    rails = column(shown, "direction") == IS_RAIL
    assert set(column(shown, "row")[rails]) == {0, 1}


def test_communicators_beyond_a_number_share_a_row():
    reported = [
        (name, rank, {"size": size, "rank": rank})
        for name, size in enumerate(range(3, 3 + ROWS + 2), 1)
        for rank in range(size)
    ]
    rows = rows_of(communicators_of(reported), 8)
    assert len(rows) == ROWS + 1 and rows[-1].words == "2 others"
    assert rows[-1].is_rest and not any(row.is_rest for row in rows[:-1])


def test_communicators_of_the_same_ranks_share_a_row_with_one_bar_per_rank(tmp_path):
    def twice(rank):
        reported = collective_runs.descriptions(rank)
        return [*reported, (77, {"size": 8, "rank": 7 - rank, "label": "copy"})]

    shown, _ = layer(tmp_path, described=twice)
    assert text(shown, "row_names")[0] == "MPI_COMM_WORLD (and 1 more of these ranks)"
    row, way = column(shown, "row"), column(shown, "direction")
    assert column(shown, "rank")[(row == 0) & (way == GIVES)].tolist() == list(range(8))
    assert len(set(row.tolist())) == 3


def test_communicators_with_most_bytes_come_first_and_those_without_any_are_left_out(tmp_path):
    run = perfield.open(collective_runs.write_run(tmp_path / "run", collective_runs.descriptions))
    most = communicators_with_most(run, [run.frame(0)])
    moved = {}
    for entry in run.frame(0).collectives:
        size = int(entry["bytes_out"]) + int(entry["bytes_in"])
        moved[int(entry["communicator"])] = moved.get(int(entry["communicator"]), 0) + size
    assert [one.name for one in most] == sorted((n for n in moved if moved[n]), key=lambda n: -moved[n])
    assert communicators_with_most(run, []) == []


def test_two_ranks_at_one_place_are_reported_and_not_drawn_as_one(tmp_path):
    def clashing(rank):
        reported = collective_runs.descriptions(rank)
        if rank == 5:
            reported[1] = (collective_runs.ROW + 1, {"size": 4, "rank": 0, "label": "rows"})
        return reported

    shown, scene = layer(tmp_path, described=clashing)
    assert any("ranks 4 and 5 claim the same place 0" in note for note in scene.notes)
    row, way = column(shown, "row"), column(shown, "direction")
    rest = text(shown, "row_names").index("1 others")
    assert column(shown, "rank")[(row == rest) & (way == GIVES)].tolist() == [4, 5, 6, 7]
    assert not ((row == rest) & (way == IS_RAIL)).any()


def test_operations_of_communicators_that_nobody_described_are_reported(tmp_path):
    shown, _ = layer(tmp_path, described=lambda rank: collective_runs.descriptions(rank)[:1])
    assert "not drawn: 361 kB in communicators" in text(shown, "in_words")[0]


def test_layer_is_empty_without_communicators_and_where_it_is_left_out(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run"))
    assert topology(run, run.frame(0)).collectives.GetNumberOfCells() == 0
    run = perfield.open(collective_runs.write_run(tmp_path / "new"))
    without = topology_scene(run, without=["collectives"])
    assert "collectives" not in topology(run, run.frame(0), without).layers()
    assert without.collectives.depth == 0


def test_frames_without_operations_keep_the_rows_and_have_empty_bars(tmp_path):
    def only_in_the_first_step(rank, step, values):
        collective_runs.operations(rank, step, values)
        if step:
            values["collectives"] = []

    path = collective_runs.write_run(tmp_path / "run", change_step=only_in_the_first_step)
    run = perfield.open(path)
    shown = [topology(run, run.frame(step), topology_scene(run)).layers()["collectives"] for step in (0, 1)]
    assert np.nansum(column(shown[0], "collective_bytes")) > 0
    assert np.nansum(column(shown[1], "collective_bytes")) == 0
    assert "communicators, which have no collective operation here" in text(shown[1], "in_words")[0]
    assert shown[0].GetNumberOfCells() == shown[1].GetNumberOfCells()


def test_overview_has_a_bar_up_and_down_in_each_node(tmp_path):
    shown, _ = layer(tmp_path, overview=True)
    assert column(shown, "node_id").tolist() == [0, 1, 0, 1]
    given = [sum(8_000 * (rank + 1) + 24 + 80 for rank in ranks) for ranks in (range(4), range(4, 8))]
    assert column(shown, "collective_bytes").tolist() == [*given, *[4 * (9_000 + 24 + 80)] * 2]
    assert "7 communicators" in text(shown, "in_words")[0]
