# SPDX-License-Identifier: BSD-3-Clause
"""The filters Layout, Statistics, Statistics table, Difference of two runs, Top messages and Rank."""

from __future__ import annotations

import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkMultiBlockDataSet

import perfield
from perfield.analysis.statistics import statistics as of_groups
from perfield.catalyst_scripts.layouts import LAYOUTS
from perfield.output.survey import over_steps
from perfield.paraview import difference, layout, rank, reader, statistics, statistics_table, top_messages
from perfield.paraview.runs import blocks_of
from perfield.run.errors import RunError
from twins import twin

MESH, MACHINE = range(2)
FIELD = "compute_time_s"


@pytest.fixture(scope="module")
def run_path(tmp_path_factory):
    """A run of 6 ranks on two hosts: each sends 2 messages of 1000 * (rank + 1) bytes and an empty one to the
    next, in a ring."""
    return twin.write_run(tmp_path_factory.mktemp("runs") / "after", ranks=6, steps=4, hosts=("a", "b"))


@pytest.fixture(scope="module")
def before_path(tmp_path_factory):
    """The same, but with 1 ms more in region `solve` on rank 2, and without step 4."""

    def slower(of, step, values):
        if of == 2:
            values["regions"] = [
                twin.region_row(1, twin.solve_ns(2, step) + 1_000_000),
                *values["regions"][1:],
            ]

    path = tmp_path_factory.mktemp("runs") / "before"
    return twin.write_run(path, ranks=6, steps=3, hosts=("a", "b"), change_step=slower, run_id=7)


def read(path, picture=MESH, time=1.0):
    return reader.make(str(path / "run.json"), time, picture=picture)


def of_rank(dataset, name):
    """The values of a cell or point array by rank."""
    found = {}
    for piece in blocks_of(dataset).values():
        points, cells = piece.GetPointData(), piece.GetCellData()
        for data in (points, cells):
            ranks = data.GetArray("rank") if data.HasArray("rank") else None
            if data.HasArray(name) and ranks is not None:
                found.update(zip(vtk_to_numpy(ranks).tolist(), vtk_to_numpy(data.GetArray(name)).tolist()))
    return [found[of] for of in sorted(found)]


def history(path, field=FIELD):
    return np.array([frame.values[field] for frame in perfield.open(path).frames()])


def column(table, name):
    return vtk_to_numpy(table.GetColumnByName(name)).tolist()


def test_statistics_are_those_of_all_steps_at_every_step(run_path):
    expected = over_steps({FIELD: history(run_path)}, "")
    for time in (0.5, 1.5):
        made = statistics.make([read(run_path, time=time)])
        for name, about in expected.items():
            np.testing.assert_allclose(of_rank(made, name), about.values, err_msg=name)
        np.testing.assert_allclose(of_rank(made, f"{FIELD}_minimum"), history(run_path).min(axis=0))
        np.testing.assert_allclose(of_rank(made, f"{FIELD}_std"), history(run_path).std(axis=0))


def test_parts_of_the_machine_have_statistics_of_their_ranks(run_path):
    layers = blocks_of(statistics.make([read(run_path, MACHINE)]))
    np.testing.assert_allclose(
        vtk_to_numpy(layers["measurements"].GetCellData().GetArray(f"{FIELD}_mean")),
        history(run_path).mean(axis=0),
    )
    machine = layers["machine"].GetCellData()
    nodes = np.flatnonzero(vtk_to_numpy(machine.GetArray("n_ranks")) == 3)
    assert len(nodes) >= 2
    spread = vtk_to_numpy(machine.GetArray(f"{FIELD}_mean_rank_std"))[nodes]
    expected = of_groups(history(run_path).mean(axis=0), np.array([0, 3]))
    np.testing.assert_allclose(spread[:1], expected[:1, 2], rtol=1e-5)


def test_table_has_a_row_for_each_step_rank_or_node(run_path):
    values = history(run_path)
    for rows, groups in (
        (0, values),
        (1, values.T),
        (2, [values[1, :3], values[1, 3:]]),
    ):
        table = statistics_table.make([read(run_path)], rows=rows)
        assert table.GetNumberOfRows() == len(groups)
        np.testing.assert_allclose(column(table, f"{FIELD}_mean"), [np.mean(group) for group in groups])
        np.testing.assert_allclose(
            column(table, f"{FIELD}_p95"), [np.percentile(group, 95) for group in groups]
        )
    assert table.GetColumnByName("node").GetValue(1) == "b"


@pytest.mark.parametrize("picture", [MESH, MACHINE])
def test_difference_and_ratio_are_by_rank_over_the_mean_of_all_steps(run_path, before_path, picture):
    made = difference.make([read(before_path, picture), read(run_path, picture)], array="solve_time_s")
    old, new = (history(path, "solve_time_s").mean(axis=0) for path in (before_path, run_path))
    np.testing.assert_allclose(of_rank(made, "solve_time_s_difference"), new - old, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(of_rank(made, "solve_time_s_ratio"), new / old, rtol=1e-5)
    swapped = difference.make([read(run_path), read(before_path)], array="solve_time_s", swap=1)
    assert of_rank(swapped, "solve_time_s_ratio")[2] == pytest.approx(new[2] / old[2])


def test_difference_of_one_step_takes_the_step_with_the_same_number(run_path, before_path):
    inputs = [read(before_path, time=0.5), read(run_path, time=1.5)]
    made = difference.make(inputs, array="solve_time_s", steps=1)
    np.testing.assert_allclose(
        of_rank(made, "solve_time_s_difference"), [0, 0, -1e-3, 0, 0, 0], rtol=1e-6, atol=1e-12
    )
    with pytest.raises(ValueError, match="before has no step 4, but steps 1 to 3"):
        difference.make([inputs[0], read(run_path, time=2.0)], steps=1)


def test_heaviest_messages_are_chosen_by_bytes_or_count_and_by_place(run_path):
    def shown(**parameters):
        made = top_messages.make([read(run_path)], tubes=False, **parameters)
        data = blocks_of(made)["messages"].GetCellData()
        names = ("place", "source", "target", "sent_bytes")
        rows = zip(*(vtk_to_numpy(data.GetArray(name)).tolist() for name in names))
        return sorted(rows)

    assert shown(most=2) == [(1, 5, 0, 12000), (2, 4, 5, 10000)]
    assert shown(most=3, where=1) == [(1, 4, 5, 10000), (2, 3, 4, 8000), (3, 1, 2, 4000)]
    assert shown(most=9, where=2) == [(1, 5, 0, 12000), (2, 2, 3, 6000)]
    assert len(shown(most=4, by=1)) == 4
    machine = blocks_of(top_messages.make([read(run_path, MACHINE)], most=1))["messages"].GetCellData()
    assert (machine.GetArray("source").GetTuple1(0), machine.GetArray("target").GetTuple1(0)) == (5, 0)


def test_rank_has_its_piece_its_messages_and_words(run_path):
    made = rank.make([read(run_path)], rank=3, tubes=False)
    blocks = blocks_of(made)
    assert set(blocks) == {"rank_3", "messages"} and blocks["messages"].GetNumberOfCells() == 2
    words = blocks["rank_3"].GetFieldData().GetAbstractArray("in_words").GetValue(0)
    assert words == "rank 3, b; sends to 4 (8 kB); receives from 2 (6 kB)"
    sent = blocks_of(rank.make([read(run_path)], rank=3, lines=1, tubes=False))["messages"]
    assert sent.GetNumberOfCells() == 1
    tubes = blocks_of(rank.make([read(run_path)], rank=3, lines=1))["messages"]
    assert tubes.GetNumberOfStrips() > 1 and tubes.GetBounds()[1] > sent.GetBounds()[1]
    assert set(blocks_of(rank.make([read(run_path)], rank=3, lines=3))) == {"rank_3"}


def test_rank_has_its_cells_of_the_machine_and_the_parts_above(run_path):
    blocks = blocks_of(rank.make([read(run_path, MACHINE)], rank=4))
    assert of_rank(blocks["measurements"], "rank") == [4]
    machine = blocks["machine"]
    hosts = vtk_to_numpy(machine.GetCellData().GetArray("node_id"))
    assert 2 <= machine.GetNumberOfCells() < 8 and set(hosts.tolist()) == {1}


def test_layout_moves_a_machine_and_keeps_its_values(run_path):
    machine = read(run_path, MACHINE)
    made = layout.make([machine])
    assert blocks_of(made)["ranks"].GetBounds() != blocks_of(machine)["ranks"].GetBounds()
    assert of_rank(made, FIELD) == of_rank(machine, FIELD)
    assert blocks_of(layout.make([machine], layout=LAYOUTS.index("planes")))[
        "ranks"
    ].GetBounds() == pytest.approx(blocks_of(machine)["ranks"].GetBounds())


@pytest.mark.parametrize(
    ("make", "parameters", "text"),
    [
        (statistics.make, {"array": "solve_tim_s"}, "no field 'solve_tim_s'; did you mean solve_time_s"),
        (statistics_table.make, {"array": " "}, "Array is empty"),
        (rank.make, {"rank": 6}, "no rank 6; it has ranks 0 to 5"),
        (difference.make, {}, "got 1 input, but needs two"),
        (layout.make, {}, "not a picture of a machine. Choose 'machine'"),
    ],
)
def test_bad_input_is_reported_with_what_to_do(run_path, make, parameters, text):
    with pytest.raises(ValueError, match=text):
        make([read(run_path)], **parameters)


@pytest.mark.parametrize("module", [statistics, statistics_table, top_messages, rank])
def test_data_of_others_are_marked(module):
    with pytest.raises(ValueError, match="does not say which run it shows"):
        module.make([vtkMultiBlockDataSet()])


def test_runs_that_cannot_be_compared_are_reported(run_path, tmp_path):
    fewer = twin.write_run(tmp_path / "fewer", ranks=2, steps=2, run_id=8)
    with pytest.raises(ValueError, match="the runs have 2 and 6 ranks"):
        difference.make([read(fewer, MACHINE), read(run_path, MACHINE)])
    with pytest.raises(ValueError, match="one input is a mesh and the other a machine"):
        difference.make([read(fewer), read(run_path, MACHINE)])
    with pytest.raises(RunError, match="are the same run"):
        difference.make([read(run_path), read(run_path)])


def test_run_without_messages_says_so(tmp_path):
    def silent(of, step, values):
        values["messages"] = []

    path = twin.write_run(tmp_path / "silent", ranks=2, steps=2, change_step=silent)
    with pytest.raises(ValueError, match="no rank sent a message between nodes in this step"):
        top_messages.make([read(path)], where=2)
