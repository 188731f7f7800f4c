# SPDX-License-Identifier: BSD-3-Clause
"""The datasets of the topology picture: their cells, lines and values."""

from __future__ import annotations

import gc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from twins import twin

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkLogger
from vtkmodules.vtkIOXML import vtkXMLPolyDataReader, vtkXMLPolyDataWriter

import perfield
from perfield.pictures import topology, topology_scene
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.topology_picture import STATIC_LAYERS
from perfield.topology import LEVELS

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
MESSAGE = np.dtype(
    [("source", "i4"), ("target", "i4"), ("call", "U22")]
    + [(name, "u8") for name in ("count", "bytes", "empty", "largest")]
)


def fake_run(tmp_path: Path, ranks: list[tuple[str, str] | None], **configuration) -> SimpleNamespace:
    """A fake of perfield.run.AnyRun: ranks on (host, cpuset), machines of two packages with four cores."""
    folder = tmp_path / "machine"
    folder.mkdir()
    for host in {rank[0] for rank in ranks if rank}:
        (folder / f"{host}.xml").write_text((MACHINES / "two-packages-4-cores.xml").read_text())
    entries = [rank and {"host": rank[0], "boot_id": rank[0], "cpuset": rank[1]} for rank in ranks]
    configuration = {"inter_node_offset": 5, **configuration}
    return SimpleNamespace(
        path=tmp_path, info={"configuration": configuration}, rank_entries=entries, ends={}, communicators=[]
    )


def fake_frame(n_ranks: int, messages: list[tuple] = (), **values) -> SimpleNamespace:
    """A fake of perfield.run.Frame; its program sends by isend and put."""
    calls = ("sent", "isend", "put", "received")
    names = [f"{call}_{what}" for call in calls for what in ("count", "bytes")]
    fields = {name: np.zeros(n_ranks) for name in names} | {k: np.array(v, float) for k, v in values.items()}
    messages = np.array(list(messages), MESSAGE)
    return SimpleNamespace(kind="step", label=4, values=fields, messages=messages, collectives=None)


def column(dataset, name: str) -> np.ndarray:
    return vtk_to_numpy(dataset.GetCellData().GetArray(name))


def texts(dataset, name: str) -> list[str]:
    array = dataset.GetFieldData().GetAbstractArray(name)
    return [array.GetValue(i) for i in range(array.GetNumberOfValues())]


def corners(dataset) -> np.ndarray:
    """The points of each cell in order, (n_cells, corners per cell, 3)."""
    polygons = dataset.GetPolys() if dataset.GetNumberOfPolys() else dataset.GetLines()
    numbers = vtk_to_numpy(polygons.GetConnectivityArray())
    points = vtk_to_numpy(dataset.GetPoints().GetData())
    return points[numbers].reshape(polygons.GetNumberOfCells(), -1, 3)


def lines_by_pair(messages) -> dict[tuple[int, int], np.ndarray]:
    pairs = zip(column(messages, "source").tolist(), column(messages, "target").tolist())
    return dict(zip(pairs, corners(messages)))


OF_RANKS = LineChoice(most=100)  # a choice, so pairs of ranks have lines


def test_machine_has_a_rectangle_per_used_part(tmp_path):
    run = fake_run(tmp_path, [("n2", "0"), ("n10", "4")])
    machine = topology(run, fake_frame(2)).machine
    kinds = texts(machine, "topology_type_names")
    assert kinds == list(LEVELS)
    assert [kinds[i] for i in column(machine, "topology_type")] == ["node", "package", "core", "pu"] * 2
    hosts = texts(machine, "host_name_names")
    assert [hosts[i] for i in column(machine, "host_name")] == ["n2"] * 4 + ["n10"] * 4
    assert column(machine, "node_id").tolist() == [0] * 4 + [1] * 4
    assert column(machine, "id").tolist() == [0, 0, 0, 0, 1, 1, 4, 4]
    planes = corners(machine)
    assert np.all(planes[:4, :, 2] == 0)
    assert np.all(planes[4:, :, 2] == 5)


def cell_points(dataset) -> list[np.ndarray]:
    """The points of each cell."""
    numbers = [dataset.GetCell(i).GetPointIds() for i in range(dataset.GetNumberOfCells())]
    points = vtk_to_numpy(dataset.GetPoints().GetData())
    return [points[[ids.GetId(n) for n in range(ids.GetNumberOfIds())]] for ids in numbers]


def test_ranks_are_below_pus_and_above_their_measurements(tmp_path):
    run = fake_run(tmp_path, [("n", "0"), ("n", "4-7")])
    picture = topology(run, fake_frame(2))
    pus = corners(picture.machine)[column(picture.machine, "topology_type") == LEVELS.index("pu")]
    ranks, measurements = cell_points(picture.ranks), cell_points(picture.measurements)
    spans = [(cell[:, 0].min(), cell[:, 0].max()) for cell in ranks]
    assert spans[0] == (pytest.approx(0, abs=0.1), pytest.approx(3, abs=0.1))
    assert spans[1] == (pytest.approx(12, abs=0.1), pytest.approx(24, abs=0.1))
    for rank, measurement in zip(ranks, measurements):
        assert rank[:, 1].max() < pus[:, :, 1].min()
        assert 0 < measurement[:, 1].min() < measurement[:, 1].max() < rank[:, 1].min()
        np.testing.assert_array_equal(rank[:, 0], measurement[:, 0])


def test_rank_that_may_move_is_a_bar_with_pointed_ends(tmp_path):
    run = fake_run(tmp_path, [("n", "0"), ("n", "0-7")])
    bound, free = cell_points(topology(run, fake_frame(2)).measurements)
    assert (len(bound), len(free)) == (4, 6)
    middle = (free[:, 1].min() + free[:, 1].max()) / 2
    ends = [free[np.argmin(free[:, 0])], free[np.argmax(free[:, 0])]]
    assert [end[1] for end in ends] == pytest.approx([middle, middle], rel=1e-6)


def test_places_are_absent_if_no_single_part_holds_the_rank(tmp_path):
    run = fake_run(tmp_path, [("n1", "5"), ("n1", "0-3"), ("n2", "0-7")])
    ranks = topology(run, fake_frame(3)).ranks
    assert column(ranks, "rank").tolist() == [0, 1, 2]
    assert column(ranks, "node_id").tolist() == [0, 0, 1]
    np.testing.assert_array_equal(column(ranks, "package_id"), [1, 0, np.nan])
    np.testing.assert_array_equal(column(ranks, "core_id"), [5, np.nan, np.nan])
    np.testing.assert_array_equal(column(ranks, "pu_id"), [5, np.nan, np.nan])


def test_measurements_hold_all_frame_values_and_keep_absent_ones(tmp_path):
    run = fake_run(tmp_path, [("n2", "0"), None, ("n1", "1")])
    frame = fake_frame(3, solve_time_s=[1.5, np.nan, np.nan], pu_id=[7, np.nan, np.nan])
    measurements = topology(run, frame).measurements
    assert measurements.GetNumberOfCells() == 2
    assert column(measurements, "rank").tolist() == [0, 2]
    np.testing.assert_array_equal(column(measurements, "solve_time_s"), [1.5, np.nan])
    np.testing.assert_array_equal(column(measurements, "pu_id"), [7, 1])
    names = {
        measurements.GetCellData().GetArrayName(i)
        for i in range(measurements.GetCellData().GetNumberOfArrays())
    }
    places = {"rank", "node_id", "host_name", "package_id", "core_id", "pu_id", "n_pus", "unbound", "host"}
    assert set(frame.values) | places == names


def parts(machine) -> list[tuple[str, int]]:
    """Level and number of each part, in the order of the cells."""
    kinds = [LEVELS[i] for i in column(machine, "topology_type")]
    return list(zip(kinds, column(machine, "id").tolist()))


def test_parts_of_the_machine_hold_mean_and_maximum_of_their_ranks(tmp_path):
    run = fake_run(tmp_path, [("n", "0"), ("n", "1"), ("n", "4"), ("n", "5"), ("n", "6")])
    frame = fake_frame(5, solve_time_s=[1, 3, 10, np.nan, np.nan], pu_id=[0, 1, 4, 5, 6])
    machine = topology(run, frame).machine
    mean = dict(zip(parts(machine), column(machine, "solve_time_s").tolist()))
    most = dict(zip(parts(machine), column(machine, "solve_time_s_rank_max").tolist()))
    ranks = dict(zip(parts(machine), column(machine, "n_ranks").tolist()))
    assert mean["node", 0] == pytest.approx(14 / 3)
    assert (mean["package", 0], mean["package", 1], mean["core", 1], mean["pu", 4]) == (2, 10, 3, 10)
    assert (most["node", 0], most["package", 0], most["package", 1], most["core", 0]) == (10, 3, 10, 1)
    assert np.isnan([mean["core", 5], most["pu", 6]]).all()
    assert (ranks["node", 0], ranks["package", 1], ranks["pu", 6]) == (5, 3, 1)
    assert machine.GetCellData().GetArray("pu_id") is None, "numbers of places have no mean"


def test_parts_of_the_machine_hold_all_statistics_of_the_fields_that_are_asked_for(tmp_path):
    run = fake_run(tmp_path, [("n", "0"), ("n", "1"), ("n", "4"), ("n", "5")])
    frame = fake_frame(4, solve_time_s=[1, 3, 10, np.nan], wait_time_s=[1, 1, 1, 1])
    machine = topology(run, frame, statistics=["solve_time_s"]).machine

    def of(part, what):
        return dict(zip(parts(machine), column(machine, f"solve_time_s_rank_{what}").tolist()))[part]

    assert [of(("package", 0), what) for what in ("min", "std", "max", "imbalance")] == [1, 1, 3, 1.5]
    assert [of(("core", 1), what) for what in ("min", "std", "imbalance")] == [3, 0, 1]
    assert of(("package", 1), "imbalance") == 1 and np.isnan(of(("core", 5), "std"))
    assert not machine.GetCellData().HasArray("wait_time_s_rank_std")
    assert not topology(run, frame).machine.GetCellData().HasArray("solve_time_s_rank_std")
    assert topology(run, frame, statistics=None).machine.GetCellData().HasArray("wait_time_s_rank_std")


def test_unbound_rank_counts_for_the_node_but_for_no_core(tmp_path):
    run = fake_run(tmp_path, [("n", "0-7"), ("n", "2")])
    machine = topology(run, fake_frame(2, solve_time_s=[6, 2])).machine
    mean = dict(zip(parts(machine), column(machine, "solve_time_s").tolist()))
    assert (mean["node", 0], mean["package", 0], mean["core", 2]) == (4, 2, 2)
    assert np.isnan([mean["package", 1], mean["core", 0], mean["pu", 7]]).all()
    assert dict(zip(parts(machine), column(machine, "n_ranks").tolist()))["core", 0] == 0


def test_measurements_say_ranks_that_share_pus(tmp_path):
    run = fake_run(tmp_path, [("n", "0-1")] * 4)
    picture = topology(run, fake_frame(4, involuntary_switches=[1, 2, 3, np.nan]))
    sentence = "4 ranks on 2 PUs, unbound: times include scheduling (6 involuntary switches in step 4)"
    assert texts(picture.measurements, "sharing") == [sentence]
    assert column(picture.measurements, "unbound").tolist() == [1, 1, 1, 1]
    assert column(picture.ranks, "n_pus").tolist() == [2, 2, 2, 2]


def test_ranks_say_the_pus_of_their_threads(tmp_path):
    run = fake_run(tmp_path, [("n", "0-1"), ("n", "2")])
    run.rank_entries[0]["cpusets_of_threads"] = ["0", "1"]
    array = topology(run, fake_frame(2)).ranks.GetCellData().GetAbstractArray("pus_of_threads")
    assert [array.GetValue(cell) for cell in range(2)] == ["0; 1", ""]


def test_ranks_with_their_own_pus_have_nothing_to_tell(tmp_path):
    run = fake_run(tmp_path, [("n", "0"), ("n", "1")])
    picture = topology(run, fake_frame(2, involuntary_switches=[9, 9]))
    assert texts(picture.measurements, "sharing") == []
    assert column(picture.measurements, "unbound").tolist() == [0, 0]


def test_plane_of_a_node_lies_behind_all_its_cells(tmp_path):
    run = fake_run(tmp_path, [("a", "0"), ("b", "0-7"), ("b", "3")])
    picture = topology(run, fake_frame(3))
    assert column(picture.planes, "node_id").tolist() == [0, 1]
    assert texts(picture.planes, "host_name_names") == ["a", "b"]
    for node in range(2):
        box = picture.planes.GetCell(node).GetBounds()
        for layer in (picture.machine, picture.ranks, picture.measurements):
            for cell in np.flatnonzero(column(layer, "node_id") == node).tolist():
                inside = layer.GetCell(cell).GetBounds()
                assert box[0] <= inside[0] and inside[1] <= box[1]
                assert box[2] <= inside[2] and inside[3] <= box[3]
                assert box[5] < inside[4]


def test_message_line_runs_from_sender_to_below_receiver(tmp_path):
    run = fake_run(tmp_path, [("n1", "0"), ("n1", "4"), ("n2", "0")], comm_offset=4, inter_node_offset=6)
    messages = [(a, b, "isend", 1, 8, 0, 8) for a, b in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 1)]]
    picture = topology(run, fake_frame(3, messages), lines=OF_RANKS).messages
    lines = lines_by_pair(picture)
    np.testing.assert_allclose(lines[0, 1], [[1.5, 0, 0], [13.5, -4, 0]])
    np.testing.assert_allclose(lines[1, 0], [[13.5, 0, 0], [1.5, -4, 0]])
    np.testing.assert_allclose(lines[0, 2], [[1.5, 0, 0], [1.5, -4, 6]])
    np.testing.assert_allclose(lines[2, 0], [[1.5, 0, 6], [1.5, -4, 0]])
    np.testing.assert_allclose(lines[1, 1], [[13.5, 0, 0], [13.5, -4, 0]], err_msg="to oneself: vertical")
    inside = dict(zip(lines, column(picture, "inside_node").tolist()))
    assert inside == {(0, 1): 1, (0, 2): 0, (1, 0): 1, (1, 1): 1, (2, 0): 0}


def test_periodic_messages_leave_at_the_near_side(tmp_path):
    ranks = [(f"n{i}", "0") for i in range(4)]
    messages = [(a, b, "isend", 1, 8, 0, 8) for a, b in [(0, 3), (3, 0), (0, 1), (3, 2)]]
    run, frame = fake_run(tmp_path, ranks, periodic_BC=True), fake_frame(4, messages)
    lines = lines_by_pair(topology(run, frame, lines=OF_RANKS).messages)
    ends = {pair: line[1, 2] for pair, line in lines.items()}
    assert ends == {(0, 3): -5, (3, 0): 20, (0, 1): 5, (3, 2): 10}
    direct = lines_by_pair(topology(run, frame, lines=OF_RANKS, periodic_BC=False).messages)
    assert direct[0, 3][1, 2] == 15
    assert direct[3, 0][1, 2] == 0


def test_periodic_setting_ignores_two_nodes(tmp_path):
    run = fake_run(tmp_path, [("n1", "0"), ("n2", "0")], periodic_BC=True)
    frame = fake_frame(2, [(0, 1, "isend", 1, 8, 0, 8)])
    lines = lines_by_pair(topology(run, frame, lines=OF_RANKS).messages)
    assert lines[0, 1][1, 2] == 5


def test_several_nodes_have_one_line_per_pair_of_them(tmp_path):
    ranks = [("n1", "0"), ("n1", "4"), ("n2", "0"), ("n2", "4"), ("n3", "0")]
    run = fake_run(tmp_path, ranks, comm_offset=4, inter_node_offset=6, periodic_BC=True)
    rows = [(0, 1, 50), (0, 2, 10), (1, 2, 20), (1, 3, 5), (2, 0, 7), (4, 0, 8)]
    picture = topology(run, fake_frame(5, [(a, b, "isend", 1, n, 0, n) for a, b, n in rows])).messages
    ends = list(zip(column(picture, "source_node").tolist(), column(picture, "target_node").tolist()))
    sums = dict(zip(ends, zip(column(picture, "sent_count"), column(picture, "sent_bytes"))))
    assert sums == {(0, 1): (3, 35), (1, 0): (1, 7), (2, 0): (1, 8)}
    lines = dict(zip(ends, corners(picture)))
    np.testing.assert_allclose(lines[0, 1], [[7.5, 0, 0], [7.5, -4, 6]])
    assert lines[2, 0][1][2] == 18, "leaves at the near side"
    assert texts(picture, "in_words") == ["one line per pair of nodes; 50 % of the bytes stay inside a node"]
    of_ranks = [vtk_to_numpy(picture.GetFieldData().GetArray(name)) for name in ("source", "target")]
    assert list(zip(*of_ranks)) == [row[:2] for row in rows], "for picks"


def test_too_many_pairs_of_nodes_are_counted(tmp_path):
    run = fake_run(tmp_path, [(f"n{i}", "0") for i in range(16)])
    messages = [(a, b, "isend", 1, 9, 0, 9) for a in range(16) for b in range(16) if a != b]
    picture = topology(run, fake_frame(16, messages)).messages
    assert picture.GetNumberOfCells() == 200
    assert vtk_to_numpy(picture.GetFieldData().GetArray("lines_left_out")).tolist() == [40]


def test_pair_has_one_line_with_values_per_call(tmp_path):
    run = fake_run(tmp_path, [("n", str(i)) for i in range(3)])
    messages = [
        (2, 0, "put", 1, 0, 1, 0),
        (0, 1, "isend", 3, 24, 1, 16),
        (0, 1, "put", 2, 100, 0, 60),
        (0, 1, "isend", 1, 6, 0, 6),
    ]
    picture = topology(run, fake_frame(3, messages)).messages
    assert list(zip(column(picture, "source"), column(picture, "target"))) == [(0, 1), (2, 0)]
    expected = {
        "sent_count": [6, 1],
        "sent_bytes": [130, 0],
        "empty_count": [1, 1],
        "largest_bytes": [60, 0],
        "isend_count": [4, np.nan],
        "isend_bytes": [30, np.nan],
        "put_count": [2, 1],
        "put_bytes": [100, 0],
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(column(picture, name), values, err_msg=name)


def test_messages_to_unplaced_ranks_are_counted_not_drawn(tmp_path):
    run = fake_run(tmp_path, [("n", "0"), ("n", "1"), None])
    messages = [(0, 1, "isend", 1, 5, 0, 5), (0, 2, "isend", 2, 7, 0, 7), (1, -1, "isend", 4, 11, 0, 11)]
    picture = topology(run, fake_frame(3, messages)).messages
    assert list(lines_by_pair(picture)) == [(0, 1)]
    left_out = vtk_to_numpy(picture.GetFieldData().GetArray("messages_not_drawn"))
    assert left_out.tolist() == [6, 18]


def test_unknown_peers_become_one_stub_per_rank_on_machine(tmp_path):
    run = fake_run(tmp_path, [("n", "0"), ("n", "1"), None])
    messages = [
        *((0, 1, "isend", 1, 5, 0, 5), (0, -3, "isend", 2, 7, 0, 4), (-3, 0, "put", 4, 11, 1, 9)),
        *((1, -3, "put", 1, 3, 0, 3), (2, -3, "put", 1, 2, 0, 2)),
    ]
    picture = topology(run, fake_frame(3, messages)).messages
    lines = lines_by_pair(picture)
    assert list(lines) == [(0, 1), (0, -3), (1, -3)]
    assert column(picture, "sent_count").tolist() == [1, 6, 1]
    assert column(picture, "sent_bytes").tolist() == [5, 18, 3]
    assert column(picture, "inside_node").tolist() == [1, 2, 2]
    np.testing.assert_array_equal(column(picture, "put_bytes"), [np.nan, 11, 3])
    cell = corners(topology(run, fake_frame(3)).measurements)[0]
    top, end = lines[0, -3]
    assert top[0] == end[0] and cell[:, 0].min() < top[0] < cell[:, 0].max()
    assert -5 < end[1] < top[1] <= cell[:, 1].min()
    left_out = vtk_to_numpy(picture.GetFieldData().GetArray("messages_not_drawn"))
    assert left_out.tolist() == [1, 2]


def test_only_the_heaviest_of_many_lines_are_drawn(tmp_path):
    run = fake_run(tmp_path, [("n", str(i % 8)) for i in range(16)])
    messages = [(a, b, "isend", 1, a * 16 + b, 0, 9) for a in range(16) for b in range(16) if a != b]
    picture = topology(run, fake_frame(16, messages)).messages
    assert picture.GetNumberOfCells() == 200
    assert column(picture, "sent_bytes").min() > 40
    assert texts(picture, "in_words") == ["200 of 240 lines drawn; the rest carry 3 % of the bytes"]
    assert vtk_to_numpy(picture.GetFieldData().GetArray("messages_not_drawn")).tolist() == [0, 0]


def test_line_is_thick_at_the_sender_and_thicker_for_more_bytes(tmp_path):
    run = fake_run(tmp_path, [("n", "0"), ("n", "1")])
    messages = [(0, 1, "isend", 1, 100, 0, 100), (1, 0, "isend", 1, 10**6, 0, 10**6)]
    picture = topology(run, fake_frame(2, messages)).messages
    radius = vtk_to_numpy(picture.GetPointData().GetArray("radius")).reshape(2, 2)
    assert (radius[:, 0] > 2 * radius[:, 1]).all()
    assert radius[1, 0] > 1.3 * radius[0, 0]
    assert texts(picture, "in_words") == []


def test_frame_without_messages_keeps_arrays_without_lines(tmp_path):
    run = fake_run(tmp_path, [("n", "0")])
    empty = topology(run, fake_frame(1)).messages
    full = topology(run, fake_frame(1, [(0, 0, "put", 1, 1, 0, 1)])).messages
    assert empty.GetNumberOfCells() == 0
    for data in (empty, full):
        names = {data.GetCellData().GetArrayName(i) for i in range(data.GetCellData().GetNumberOfArrays())}
        assert {"source", "target", "inside_node", "sent_bytes", "isend_count", "put_bytes"} <= names


def test_frames_share_static_datasets_and_stay_unchanged(tmp_path):
    run = fake_run(tmp_path, [("n", "0"), ("n", "1")])
    scene = topology_scene(run)
    frame = fake_frame(2, [(1, 0, "isend", 1, 8, 0, 8), (0, 1, "isend", 1, 8, 0, 8)], solve_time_s=[1, 2])
    messages, solve = frame.messages.copy(), frame.values["solve_time_s"].copy()
    pictures = [topology(run, frame, scene) for _ in range(2)]
    for layer in STATIC_LAYERS:
        assert getattr(pictures[0], layer) is getattr(pictures[1], layer)
    assert scene.machine.GetCellData().GetArray("solve_time_s") is None
    np.testing.assert_array_equal(frame.messages, messages)
    np.testing.assert_array_equal(frame.values["solve_time_s"], solve)


@pytest.mark.parametrize("layer", ["machine", "ranks", "measurements", "messages"])
def test_datasets_outlive_their_arrays_and_survive_a_file(tmp_path, layer):
    run = fake_run(tmp_path, [(f"n{i % 3}", str(i // 3)) for i in range(24)])
    messages = [(i, (i + 1) % 24, "isend", 1, i, 0, i) for i in range(24)]
    dataset = getattr(topology(run, fake_frame(24, messages)), layer)
    gc.collect()
    junk = [np.full(400, 10**6, np.int32) for _ in range(200)]  # overwrites freed memory
    writer, reader = vtkXMLPolyDataWriter(), vtkXMLPolyDataReader()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
    for step in (writer, reader):
        step.SetFileName(str(tmp_path / "layer.vtp"))
    writer.SetInputData(dataset)
    writer.SetDataModeToBinary()  # as in output/series.py
    assert writer.Write() == 1
    reader.Update()
    np.testing.assert_array_equal(corners(reader.GetOutput()), corners(dataset))
    assert corners(dataset).max() < 100, "corners of other cells"
    assert len(junk) == 200
    if layer != "messages":
        assert texts(reader.GetOutput(), "host_name_names") == ["n0", "n1", "n2"]


def test_run_without_ranks_gives_empty_datasets(tmp_path):
    run = fake_run(tmp_path, [None, None])
    picture = topology(run, fake_frame(2, [(0, 1, "isend", 1, 8, 0, 8)]))
    for layer in ("machine", "ranks", "measurements", "messages"):
        assert getattr(picture, layer).GetNumberOfCells() == 0


def test_scene_notes_say_what_is_unknown(tmp_path):
    run = fake_run(tmp_path, [("n1", "0"), ("n2", "1")])
    (tmp_path / "machine" / "n1.xml").write_text("nothing")
    (tmp_path / "machine" / "n2.xml").unlink()
    notes = topology_scene(run).notes
    assert len(notes) == 2
    assert "host n1 is drawn without its hardware" in notes[0]
    assert "no description of the machine of n1, n2 (2 of 2 nodes)" in notes[1]


def test_run_directory_becomes_a_topology_picture(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", ranks=4, steps=2, hosts=("n1", "n2"))
    for host in ("n1", "n2"):
        text = (MACHINES / "two-packages-4-cores.xml").read_text()
        (path / "machine" / f"{host}.xml").write_text(text)
    run = perfield.open(path)
    picture = topology(run, run.frame(1), lines=OF_RANKS)
    assert column(picture.ranks, "node_id").tolist() == [0, 0, 1, 1]
    assert column(picture.ranks, "core_id").tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(
        column(picture.measurements, "solve_time_s"),
        [twin.solve_ns(rank, 1) * 1e-9 for rank in range(4)],
        rtol=1e-12,
    )
    bytes_of = dict(zip(lines_by_pair(picture.messages), column(picture.messages, "isend_bytes").tolist()))
    assert bytes_of == {(rank, (rank + 1) % 4): 2000 * (rank + 1) for rank in range(4)}
