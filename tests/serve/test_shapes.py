# SPDX-License-Identifier: BSD-3-Clause
"""The mesh's surface and the machine as the page draws them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from drivers.served import served
from known_runs.device_runs import GB, kernel_s, write_device_run
from known_runs.foam_cases import write_case, write_mesh
from known_runs.mesh_file_writers import turned_triangles
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
from vtkmodules.vtkFiltersCore import vtkCleanPolyData
from vtkmodules.vtkFiltersSources import vtkCubeSource, vtkCylinderSource, vtkPlaneSource, vtkSphereSource

from perfield.serve import about
from perfield.serve.surface import edges_of, looking
from twins import twin

RANKS = 8


def cells(reported):
    """Cells, each a list of points, of a list of numbers of points and these."""
    found, at = [], 0
    while at < len(reported):
        found.append(reported[at + 1 : at + 1 + reported[at]].tolist())
        at += 1 + reported[at]
    return found


def test_each_face_of_the_surface_belongs_to_the_rank_of_its_piece(client):
    arrays, header = client.packed("/api/mesh?version=0")
    faces = cells(arrays["polys"])
    assert len(faces) == len(arrays["rank"]) == RANKS * 6 * 16 and {len(face) for face in faces} == {4}
    middle = arrays["points"][np.array(faces)].mean(axis=1)
    slab = np.clip(np.round(middle[:, 0] * RANKS - 0.5), 0, RANKS - 1)
    inner = np.abs(middle[:, 0] * RANKS % 1 - 0.5) < 0.45  # not on the border of two slabs
    assert np.array_equal(arrays["rank"][inner], slab[inner])
    assert np.bincount(arrays["rank"]).tolist() == [96] * RANKS
    assert header["bounds"] == [0, 1, 0, 1, 0, 1] and not header["flat"]
    assert arrays["centres"][3] == pytest.approx([3.5 / RANKS, 0.5, 0.5])
    assert arrays["sizes"][3] == pytest.approx(np.sqrt(2 + 1 / 64))
    # a slab has 12 edges, 8 of them of 4 segments across, and 4 of 4 segments along
    assert np.bincount(arrays["line_rank"]).tolist() == [48] * RANKS
    assert len(cells(arrays["lines"])) == RANKS * 48


def test_cells_seen_from_behind_have_no_edges_of_their_own():
    ends, _ = edges_of(turned_triangles(6))
    assert len(ends) == 4 * 6


def shaped(source, **settings):
    """A shape of VTK whose faces share their points."""
    made, merged = source(), vtkCleanPolyData()
    for name, value in settings.items():
        getattr(made, f"Set{name}")(value)
    merged.SetInputConnection(made.GetOutputPort())
    merged.Update()
    return merged.GetOutput()


@pytest.mark.parametrize(
    ("shape", "n_edges"),
    [
        (shaped(vtkCubeSource), 12),
        (shaped(vtkCylinderSource, Resolution=9), 9 + 2 * 9),
        (shaped(vtkPlaneSource, XResolution=3), 2 * 3 + 2),  # its border
        (shaped(vtkSphereSource, ThetaResolution=40, PhiResolution=40), 0),
    ],
)
def test_edges_are_where_faces_end_or_meet_at_a_sharp_angle(shape, n_edges):
    ends, face = edges_of(shape)
    assert len(ends) == len(face) == n_edges


def test_edges_of_nothing_and_of_faces_without_area_are_none_or_their_borders():
    assert len(edges_of(vtkPolyData())[0]) == 0
    points, cells = vtkPoints(), vtkCellArray()
    for x in (0, 1, 2, 2):
        points.InsertNextPoint(x, 0, 0)
    cells.InsertNextCell(4, [0, 1, 2, 2])
    shape = vtkPolyData()
    shape.SetPoints(points)
    shape.SetPolys(cells)
    assert sorted(map(sorted, edges_of(shape)[0].tolist())) == [[0, 1], [0, 2], [1, 2]]


def test_own_field_is_that_of_the_newest_step_with_one(client):
    arrays, header = client.packed("/api/own?field=temperature&frame=5")
    mesh, _ = client.packed("/api/mesh?version=0")
    assert header["association"] == "point" and header["step"] == 4 and header["version"] == 0
    assert len(arrays["values"]) == len(mesh["points"])
    faces = np.array(cells(mesh["polys"]))
    of_face = arrays["values"][faces[:, 0]]
    assert of_face == pytest.approx(mesh["rank"] + 0.004)


def test_ghost_cells_are_left_out(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", 1, 1, fields_every=0)
    mesh = next((path / "mesh").glob("*.pf"))
    ghosts = [0] * 48 + [1] * 16  # the upper layer of 4 x 4 x 4 cells
    array = {"role": "ghosts", "association": "cell", "type": "u1", "values": ghosts}
    writer = twin.Writer(mesh, 0)
    writer.sequence = 1
    writer.add("mesh", twin.array_body({"block": 0}, [array]), index=1)
    with served(path) as client:
        arrays, header = client.packed("/api/mesh")
    assert header["bounds"][5] == 0.75 and len(arrays["rank"]) == 2 * 16 + 4 * 12


def test_field_of_cells_and_vectors_are_reported(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", 2, 1, fields_every=0)
    mesh = next((path / "mesh").glob("*.pf"))
    for rank in range(2):
        writer = twin.Writer(mesh, rank)
        writer.sequence = 1
        speed = {"role": "field", "name": "U air", "association": "cell", "type": "f4", "components": 3}
        values = [3.0 * rank, 0.0, 4.0] * 64
        writer.add("field", twin.array_body({"block": 0}, [{**speed, "values": values}]), index=0)
    with served(path) as client:
        (answer,) = client.json("/api/run")["own_fields"]
        assert (answer["name"], answer["title"]) == ("U_air", "U air")
        arrays, header = client.packed("/api/own?field=U_air&frame=0")
        mesh, _ = client.packed("/api/mesh")
        cut, _ = client.packed("/api/slice?version=0&axis=1&permille=500&field=U_air&frame=0")
    assert header["association"] == "cell" and header["title"] == "U air" and header["range"] == [4.0, 5.0]
    assert np.array_equal(arrays["values"], np.where(mesh["rank"] == 1, 5.0, 4.0))
    assert np.array_equal(cut["values"], np.where(cut["rank"] == 1, 5.0, 4.0)) and len(cut["rank"])


def test_each_version_of_the_mesh_is_reported(tmp_path):
    def moved(rank, step, values):
        values["mesh_version"] = 1 if step < 2 else 2

    path = twin.write_run(tmp_path / "perfield-run", 2, 4, change_step=moved, fields_every=0)
    for rank in range(2):
        writer = twin.Writer(next((path / "mesh").glob("*.pf")), rank)
        writer.sequence = 1
        writer.add("mesh", twin.block_mesh(rank, (2, 1, 1)), index=2)
    with served(path) as client:
        about = client.json("/api/run")
        assert about["frames"]["mesh_version"] == [0, 0, 1, 1] and about["mesh"]["versions"] == [0, 1]
        assert client.packed("/api/mesh?version=0")[1]["bounds"][1] == 1
        assert client.packed("/api/mesh?version=1")[1]["bounds"][1] == 2


def timed(rank, step, values):
    """The program's time: 0, 0.5, 1, ..."""
    values["time"] = 0.5 * step


def test_run_without_a_mesh_gets_a_reason_that_no_browser_logs_as_an_error(tmp_path):
    with served(twin.write_run(tmp_path / "run", 1, 2, mesh=False)) as client:
        arrays, header = client.packed("/api/mesh?version=0")
    assert not arrays and header["reason"].startswith("no rank of ")


@pytest.mark.parametrize("is_named", [False, True])
def test_mesh_of_the_working_directory_or_with_its_name_is_shown_in_each_version(tmp_path, is_named):
    path = twin.write_run(tmp_path / "run", 2, 3, mesh=False, change_step=timed, started_in="../case")
    case = tmp_path / "other" if is_named else tmp_path / "case"
    write_case(case, ranks=2)
    for rank in range(2):
        write_mesh(case / f"processor{rank}/0.5/polyMesh", rank + 10)
    with served(path, mesh=case if is_named else None) as client:
        about = client.json("/api/run")
        assert about["mesh"]["versions"] == [0, 1, 2] and about["frames"]["mesh_version"] == [0, 1, 2]
        assert client.refusal("/api/mesh?version=3")[0] == 404
        arrays, header = client.packed("/api/mesh?version=0")
        assert set(arrays["rank"]) == {0, 1} and header["bounds"][:2] == [0, 2]
        assert [field["name"] for field in header["own_fields"]] == ["p"]
        assert client.packed("/api/mesh?version=1")[1]["bounds"][:2] == [10, 12]
        values, field = client.packed("/api/own?field=p&frame=1")
    assert field["association"] == "cell" and values["values"].tolist() == [0.5] * 6 + [10.5] * 6


def test_mesh_that_a_run_leads_to_outside_is_shown_only_with_consent(tmp_path):
    leads = {"started_in": ".", "config": {"mesh_path": "../case"}}
    path = twin.write_run(tmp_path / "perfield-run", 2, 2, mesh=False, **leads)
    write_case(tmp_path / "case", ranks=2)
    asked = []
    with served(path) as client:
        _, header = client.packed("/api/mesh")
        assert header["way"].startswith("boxes") and f"{tmp_path}/case is outside" in header["notes"][0]
    with served(path, agrees=lambda place: not asked.append(place)) as client:
        assert [client.packed("/api/mesh")[1]["own_fields"][0]["name"] for _ in range(2)] == ["p", "p"]
    assert asked == [str(tmp_path / "case")]


def test_ranks_without_a_mesh_are_boxes_by_their_messages(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", 4, 2, mesh=False)
    with served(path) as client:
        assert client.json("/api/run")["mesh"] == {"versions": [0], "late": True}
        arrays, header = client.packed("/api/mesh")
    assert np.bincount(arrays["rank"]).tolist() == [6] * 4
    assert header["way"].startswith("boxes placed by messages") and "ranks are boxes" in header["notes"][0]


@pytest.mark.parametrize(
    ("bounds", "flat", "direction"),
    [
        ((0, 1, 0, 1, 0, 1), False, [-1.0, 0.75, -0.6]),
        ((0, 1, 0, 1, 0, 0.1), True, [0.0, 0.0, -1.0]),
        ((0, 0, 0, 1, 0, 1), True, [-1.0, 0.0, 0.0]),
        ((0, 1, 2, 2, 0, 1), True, [0.0, 1.0, 0.0]),
        ((0, 0, 0, 0, 0, 0), True, [0.0, 0.0, -1.0]),
    ],
)
def test_flat_meshes_are_looked_at_across(bounds, flat, direction):
    assert looking(bounds)[:2] == (flat, direction)


def test_machine_has_a_cell_for_each_rank_and_its_parts_know_theirs(client):
    arrays, header = client.packed("/api/machine")
    layers = {layer["name"]: layer for layer in header["layers"]}
    assert not header["overview"] and set(layers) == {"planes", "machine", "ranks", "measurements"}
    assert arrays["ranks/rank"].tolist() == arrays["measurements/rank"].tolist() == list(range(RANKS))
    machine = layers["machine"]
    begin, below = arrays["machine/below_begin"], arrays["machine/below"]
    of_part = [below[begin[n] : begin[n + 1]].tolist() for n in range(machine["n_parts"])]
    reported = dict(zip(machine["names"], of_part))
    assert reported["a"] == [0, 1, 2, 3] and reported["b"] == [4, 5, 6, 7] and reported["pu 2 of a"] == [2]
    assert reported["pu 6 of b"] == [6] and set(machine["types"]) >= {"node", "pu"}
    assert set(arrays["machine/rank"]) == {-1}
    for name in layers:
        n_cells = len(cells(arrays[f"{name}/polys"]))
        assert len(arrays[f"{name}/part"]) == len(arrays[f"{name}/rank"]) == n_cells
        assert arrays[f"{name}/polys"].max(initial=0) < len(arrays[f"{name}/points"])
    # each part is above the ranks that it holds, and messages run below them
    middles = arrays["ranks/points"].reshape(RANKS, 4, 2).mean(axis=1)
    assert arrays["line_from"][:, 0] == pytest.approx(middles[:, 0], abs=1e-5)
    assert (arrays["line_to"][:, 1] < arrays["line_from"][:, 1]).all()
    assert arrays["machine/points"][:, 1].min() > arrays["ranks/points"][:, 1].max()
    places = arrays["machine/points"].reshape(machine["n_parts"], 4, 2)
    for place, ranks in zip(places, of_part):
        inside = (middles[:, 0] > place[:, 0].min()) & (middles[:, 0] < place[:, 0].max())
        assert np.flatnonzero(inside).tolist() == ranks
    assert {"a", "b", *map(str, range(RANKS))} <= {text for text, *_ in header["texts"]}


def test_machine_fills_the_size_that_is_asked_for(client):
    for wide, high in ((1200, 300), (300, 600)):
        _, header = client.packed(f"/api/machine?wide={wide}&high={high}")
        left, right, low, top = header["box"]
        assert (right - left) / (top - low) == pytest.approx(wide / high, rel=0.1)
    assert client.refusal("/api/machine?wide=9000000")[0] == 404


def test_overview_has_a_cell_for_each_node(client):
    arrays, header = client.packed("/api/machine?overview=1")
    layers = {layer["name"]: layer for layer in header["layers"]}
    assert header["overview"] and layers["measurements"]["names"] == ["a", "b"]
    begin, below = arrays["measurements/below_begin"], arrays["measurements/below"]
    assert begin.tolist() == [0, 4, 8] and below.tolist() == list(range(RANKS))
    assert "largest value" in header["notes"][-1]
    assert len(np.unique(arrays["line_from"], axis=0)) == 2


def test_many_ranks_are_an_overview_first(tmp_path, monkeypatch):
    monkeypatch.setattr(about, "MOST_CELLS", 64)
    hosts = tuple(f"n{number:03}" for number in range(1, 66))
    path = twin.write_run(tmp_path / "perfield-run", 65, 1, hosts=hosts, mesh=False)
    leaves = [f"SwitchName=leaf{n} Nodes=n[{13 * n + 1:03}-{13 * n + 13:03}]\n" for n in range(5)]
    (path / "machine" / "network.txt").write_text("".join(leaves) + "SwitchName=spine Switches=leaf[0-4]\n")
    with served(path) as client:
        assert client.json("/api/run")["machine"] == {"overview": True}
        arrays, header = client.packed("/api/machine")
        assert not client.packed("/api/machine?overview=0")[1]["overview"]
    assert header["overview"]
    layers = {layer["name"]: layer for layer in header["layers"]}
    assert layers["measurements"]["names"] == list(hosts)
    below, begin = arrays["switches/below"], arrays["switches/below_begin"]
    named = dict(zip(layers["switches"]["names"], np.split(below, begin[1:-1])))
    assert named["leaf3"].tolist() == list(range(39, 52))


def test_switches_are_cells_with_the_ranks_below(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", 4, 1, hosts=("a", "b", "c", "d"))
    (path / "machine" / "network.txt").write_text(
        "SwitchName=leaf0 Nodes=a,b\nSwitchName=leaf1 Nodes=c,d\nSwitchName=spine Switches=leaf[0-1]\n"
    )
    with served(path) as client:
        arrays, header = client.packed("/api/machine")
    switches = next(layer for layer in header["layers"] if layer["name"] == "switches")
    begin, below = arrays["switches/below_begin"], arrays["switches/below"]
    reported = {
        name: sorted(below[begin[n] : begin[n + 1]].tolist()) for n, name in enumerate(switches["names"])
    }
    assert reported == {"leaf0": [0, 1], "leaf1": [2, 3], "spine": [0, 1, 2, 3]}
    assert {len(cell) for cell in cells(arrays["switches/polys"])} == {4}
    assert sorted(set(arrays["switches/part"].tolist())) == [0, 1, 2]


def test_devices_are_cells_that_add_up_what_the_ranks_on_them_do(tmp_path):
    with served(write_device_run(tmp_path / "perfield-run")) as client:
        arrays, header = client.packed("/api/machine")
        fields = {field["name"]: field for field in client.json("/api/run")["fields"]}
    layers = {layer["name"]: layer for layer in header["layers"]}
    assert layers["devices"]["names"] == ["nvidia0 on node0", "nvidia1 on node0"]
    assert "device_kernel_time_s" in layers["devices"]["added_up"] and not layers["machine"]["added_up"]
    begin, below = arrays["devices/below_begin"], arrays["devices/below"]
    assert [below[begin[n] : begin[n + 1]].tolist() for n in range(2)] == [[0, 1], [2]]
    assert fields["device_kernel_time_s"]["scale"][1] >= kernel_s(0, 2) + kernel_s(1, 2)
    assert fields["device_memory_bytes"]["scale"] == [0, 10 * GB]
    assert {fields[name]["group"] for name in fields if name.startswith("device_")} == {"devices"}


def test_missing_vtk_is_reported(run, monkeypatch):
    for module in ("about", "routes"):
        monkeypatch.setattr(f"perfield.serve.{module}.has_vtk", lambda: False)
    with served(run) as client:
        about = client.json("/api/run")
        for what in ("mesh", "machine"):
            assert "pip install 'perfield[vtk]'" in about[what]["reason"]
            assert "pip install 'perfield[vtk]'" in client.refusal(f"/api/{what}")[1]
        assert len(client.body("/api/values?field=compute_time_s"))
