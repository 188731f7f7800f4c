# SPDX-License-Identifier: BSD-3-Clause
"""The reader of run.json: the pictures that perfield render writes, made of the run itself."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from known_runs import mixed_spans
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataReader

from perfield.paraview import reader
from perfield.paraview.runs import blocks_of
from perfield.run import RunError
from twins import twin

MESH, MACHINE, MESSAGES = range(3)
ALL, CELLS = 1, 1
NOTHING = {"mesh": False, "change_step": twin.without_calls}  # that a picture of the mesh could show


@pytest.fixture(scope="module")
def run_path(tmp_path_factory):
    """A run of 4 ranks on two hosts, 6 steps, with messages and an own field every second step."""
    path = tmp_path_factory.mktemp("runs") / "run"
    return twin.write_run(path, ranks=4, steps=6, hosts=("a", "b"), blocks=(2, 2, 1))


@pytest.fixture(autouse=True)
def said(monkeypatch):
    """The notes that the reader prints."""
    sentences = []
    monkeypatch.setattr(reader, "warn", sentences.append)
    return sentences


def arrays_of(dataset):
    """All numeric arrays of a dataset's points and cells by (part, name)."""
    parts = {"point": dataset.GetPointData(), "cell": dataset.GetCellData()}
    return {
        (part, data.GetArrayName(n)): vtk_to_numpy(data.GetArray(n))
        for part, data in parts.items()
        for n in range(data.GetNumberOfArrays())
        if data.GetArray(n) is not None
    }


def written(pictures, name):
    """The times of a picture's .pvd, and its datasets in the third of them."""
    steps = list(ElementTree.parse(pictures / f"{name}.pvd").iter("DataSet"))
    opened = vtkXMLMultiBlockDataReader()
    opened.SetFileName(str(pictures / steps[2].get("file")))
    opened.Update()
    return [float(step.get("timestep")) for step in steps], blocks_of(opened.GetOutput())


@pytest.mark.parametrize("options", [(), ("--arrays", "all", "--cells")])
def test_pictures_are_those_of_render(perfield_cli, run_path, tmp_path, options):
    perfield_cli("render", run_path, "-o", tmp_path, *options)
    chosen = {"arrays": ALL, "values_on": CELLS} if options else {}
    for picture, name in ((MESH, "geometry"), (MACHINE, "topology")):
        times, blocks = written(tmp_path, name)
        file = str(run_path / "run.json")
        assert reader.times(file, **chosen) == times
        made = blocks_of(reader.make(file, times[2], picture=picture, **chosen))
        full = {block for block, dataset in blocks.items() if dataset.GetNumberOfCells()}
        assert full and full <= set(made)
        for block in full:
            ours, theirs = arrays_of(made[block]), arrays_of(blocks[block])
            assert set(ours) == set(theirs)
            for key, values in theirs.items():
                np.testing.assert_array_equal(ours[key], values, err_msg=f"{block} {key}")


def test_messages_that_pass_few_faces_are_lines_with_their_ends(run_path):
    made = blocks_of(reader.make(str(run_path / "run.json"), 1.0, picture=MESSAGES))
    arrays = arrays_of(made["messages"])
    assert arrays["cell", "source"].tolist() == [0, 1, 2, 3]
    assert arrays["cell", "target"].tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize(("time", "label"), [(None, 0), (-1.0, 0), (0.5, 0), (1.2, 1), (3.0, 5), (99.0, 5)])
def test_time_between_steps_shows_the_step_before(run_path, time, label):
    made = blocks_of(reader.make(str(run_path / "run.json"), time))
    solve_s = 1e-3 + 1e-6 * label  # of rank 0
    assert arrays_of(made["rank_0"])["point", "solve_compute_time_s"][0] == pytest.approx(solve_s)


def structured_slab(rank, ranks):
    """Body of a structured block with points of its own, in place of twin's image."""
    extent = [4 * rank, 4 * rank + 4, 0, 4, 0, 4]
    axes = [range(extent[end], extent[end + 1] + 1) for end in (4, 2, 0)]
    points = [float(x) for z, y, x in itertools.product(*axes) for x in (x, y, z)]
    array = {"role": "points", "type": "f8", "components": 3, "values": points}
    return twin.array_body({"block": 0, "kind": "structured", "extent": extent}, [array])


def test_points_of_the_mesh_are_converted_once(tmp_path, monkeypatch):
    monkeypatch.setattr(twin, "slab_mesh", structured_slab)
    file = str(twin.write_run(tmp_path / "run", ranks=2, steps=4) / "run.json")
    shown = [blocks_of(reader.make(file, time))["rank_1"] for time in (0.5, 1.0, 2.0)]
    assert shown[0].GetPoints() is shown[1].GetPoints() is shown[2].GetPoints()
    assert shown[0].GetPoints().GetNumberOfPoints() == 125


def test_further_arrays_join_the_main_ones(run_path):
    made = blocks_of(reader.make(str(run_path / "run.json"), 1.0, fields="isend_bytes, minor_faults"))
    names = {name for _, name in arrays_of(made["rank_0"])}
    assert {"isend_bytes", "minor_faults", "compute_time_s", "temperature"} <= names


def test_unknown_array_names_the_nearest(run_path):
    with pytest.raises(ValueError, match="no field isend_byte; did you mean isend_bytes"):
        reader.make(str(run_path / "run.json"), 1.0, fields="isend_byte")


def test_reloading_shows_what_a_running_program_added(tmp_path):
    whole = twin.write_run(tmp_path / "whole", ranks=2, steps=6, ended=False, change_rank=twin.live_rank)
    growing = twin.write_run(tmp_path / "run", ranks=2, steps=3, ended=False, change_rank=twin.live_rank)
    file = str(growing / "run.json")
    assert reader.times(file) == [0.5, 1.0, 1.5]
    reader.make(file, 1.0)
    for path in whole.glob("*/*.pf"):
        (growing / path.relative_to(whole)).write_bytes(path.read_bytes())
    assert "rank_0" in blocks_of(reader.make(file, 1.5)), "until it is reloaded the run stays as it was"
    assert reader.times(file) == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    made = blocks_of(reader.make(file, 3.0))
    assert arrays_of(made["rank_1"])["point", "temperature"][0] == pytest.approx(1.004)
    mean = np.mean([1e-3 * 2 + 1e-6 * step for step in range(6)])  # over all steps, also the new ones
    assert arrays_of(made["rank_1"])["point", "solve_compute_time_s_mean"][0] == pytest.approx(mean)


def test_new_run_of_the_same_directory_is_opened_anew(tmp_path):
    file = str(twin.write_run(tmp_path / "run", ranks=2, steps=3) / "run.json")
    assert len(reader.times(file)) == 3
    for path in (tmp_path / "run").glob("*/*"):
        path.unlink()
    twin.write_run(tmp_path / "run", ranks=2, steps=5, run_id=7)
    assert len(reader.times(file)) == 5


def test_run_of_one_step_has_one_time(tmp_path):
    file = str(twin.write_run(tmp_path / "run", ranks=2, steps=1) / "run.json")
    assert reader.times(file) == [0.5]
    assert "rank_1" in blocks_of(reader.make(file, 0.5))


def test_own_field_that_appears_late_is_absent_before(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=4, fields_every=0)
    mesh = twin.Writer(next((path / "mesh").glob("*")), 0)
    mesh.sequence = 1
    mesh.add("field", twin.slab_field(0, 2), index=2)
    shown = [blocks_of(reader.make(str(path / "run.json"), time))["rank_0"] for time in (0.5, 1.5)]
    assert [("point", "temperature") in arrays_of(dataset) for dataset in shown] == [False, True]


def test_damage_is_reported_once(run_path, tmp_path, said):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=5)
    stream = next((path / "stream").glob("*.pf"))
    data = bytearray(stream.read_bytes())
    data[len(data) // 2] ^= 255
    stream.write_bytes(data)
    file = str(path / "run.json")
    for time in (0.5, 1.0):
        assert "rank_0" in blocks_of(reader.make(file, time))
    assert len(said) == len(set(said)) >= 1 and stream.name in said[0]


@pytest.mark.parametrize(
    ("made", "options", "text"),
    [
        (NOTHING, {}, "choose machine as Picture"),
        (NOTHING, {"picture": MESSAGES}, "described a mesh"),
        ({"steps": 0, "ended": False, "change_rank": twin.live_rank}, {}, "wait for the first one"),
        ({}, {"mesh": "plate.pvtu"}, "mesh plate.pvtu does not exist"),
    ],
)
def test_what_a_run_lacks_is_reported(tmp_path, made, options, text):
    path = twin.write_run(tmp_path / "run", **({"ranks": 2, "steps": 2} | made))
    with pytest.raises(ValueError, match=text):
        reader.make(str(path / "run.json"), 0.5, **options)


def test_run_without_mesh_shows_its_machine(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=2, mesh=False)
    made = blocks_of(reader.make(str(path / "run.json"), 0.5, picture=MACHINE))
    assert arrays_of(made["measurements"])["cell", "rank"].tolist() == [0, 1]


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "package"}'])
def test_file_that_is_no_run_is_reported(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(RunError, match=re.escape(str(tmp_path))):
        reader.times(str(tmp_path / "run.json"))


def test_frames_of_several_steps_show_the_mean_of_one(tmp_path, said):
    path = mixed_spans.write(tmp_path / "run", {rank: [1, 1, 4, 4] for rank in range(2)})
    file = str(path / "run.json")
    made = arrays_of(blocks_of(reader.make(file, reader.times(file)[-1], fields="solve_time_s"))["rank_1"])
    assert made["point", "solve_time_s"][0] == pytest.approx(1e-3 * 2 + 1e-6 * np.mean([6, 7, 8, 9]))
    assert said == ["Frames add up several steps: values are the mean of one."]
