# SPDX-License-Identifier: BSD-3-Clause
"""Nothing hides: which ranks a camera sees, and how images show the mesh if some would be hidden."""

from __future__ import annotations

import json
import shutil

import pytest
from drivers.in_paraview import in_paraview, in_vtk
from known_runs import fake_run

import perfield
from perfield.output.picture_series import PictureSeries
from perfield.pictures.geometry_picture import GeometryOptions
from perfield.pictures.pieces import choose_pieces
from twins import twin

pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")

INNER = 13  # at (1, 1, 1) of 3 x 3 x 3 ranks


def written(path, run, **options):
    """The pictures of the first two steps of a run."""
    geometry = GeometryOptions(pieces=choose_pieces(run), **options)
    PictureSeries(run, [0, 1], path / "pictures", geometry, None).write()
    return path / "pictures"


@pytest.fixture(scope="module")
def cubes(tmp_path_factory):
    """The pictures of 3 x 3 x 3 ranks; the hot one is in the inside."""
    path = tmp_path_factory.mktemp("cubes")
    run = twin.write_run(
        path / "run", ranks=27, steps=2, blocks=(3, 3, 3), change_step=twin.one_hot_rank(INNER)
    )
    return written(path, perfield.open(run))


CHOOSE = """
import mesh_picture
from mesh_values import MeshValues
from mesh_views import Chooser
from scene import Pictures
pictures = Pictures.from_environment()
fields = ["compute_time_s", "solve_count", "rank"]
times = [step["shown_at"] for step in pictures.description["steps"]]
values = MeshValues(pictures, fields)
chooser = Chooser(pictures, values, times, mesh_picture.sight(pictures, values))
"""


def chosen(pictures, field):
    """Kind, factor and words of the chosen way to show a field."""
    script = f"{CHOOSE}\nway = chooser.choose('{field}')\nresult = [way.kind, way.factor, way.words]"
    return in_vtk(script, pictures)


@pytest.fixture(scope="module")
def ways(cubes) -> dict[str, list]:
    """The hidden ranks of the cubes, by how far the pieces are apart, and the ways chosen for fields."""
    script = f"""{CHOOSE}
result = {{factor: sorted(chooser.hidden(factor)) for factor in (0.0, 0.5, 1.0)}}
for field in fields:
    way = chooser.choose(field)
    result[field] = [way.kind, way.factor, way.words]
"""
    return in_vtk(script, cubes)


def test_surrounded_ranks_are_hidden_until_the_pieces_are_far_enough_apart(ways):
    plain, half, apart = ways["0.0"], ways["0.5"], ways["1.0"]
    # The camera looks along (-1, 0.75, -0.6): it sees the faces where x is largest, y smallest and z largest.
    hidden = [z * 9 + y * 3 + x for z in range(2) for y in range(1, 3) for x in range(2)]
    assert plain == hidden
    assert INNER in plain and INNER in half
    assert apart == []


def test_a_hidden_rank_that_stands_out_is_shown_before_the_others(ways):
    words = "overloaded ranks opaque, as 8 ranks would be hidden"
    assert ways["compute_time_s"] == ["highest", 0, words]


@pytest.mark.parametrize("field", ["rank", "solve_count"])
def test_pieces_move_apart_if_ranks_hide_and_none_stands_out(ways, field):
    assert ways[field] == ["exploded", 1.0, "exploded, as 8 ranks would be hidden"]


def test_the_users_choice_counts(cubes, tmp_path):
    pictures = shutil.copytree(cubes, tmp_path / "pictures")
    about = json.loads((cubes / "pictures.json").read_text())
    found = []
    for view, factor in (("plain", None), ("auto", 0.25), ("exploded", None), ("highest", None)):
        (pictures / "pictures.json").write_text(json.dumps({**about, "view": view, "explode": factor}))
        found.append(chosen(pictures, "compute_time_s"))
    assert found == [
        ["plain", 0, "8 ranks are hidden"],
        ["exploded", 0.25, "exploded"],
        ["exploded", 0.5, "exploded"],
        ["highest", 0, "overloaded ranks opaque"],
    ]


@pytest.fixture(scope="module")
def ways_of_field(cubes):
    """How a field of the simulation is shown: as nobody asked, from the side, and with --view plain."""
    script = f"""{CHOOSE}
from pipeline_options import from_settings
result = []
for view, camera in (("auto", "auto"), ("auto", "side"), ("plain", "auto")):
    pictures.description["view"] = view
    pictures.options = from_settings({{"camera": camera}})
    way = Chooser(pictures, values, times, None).choose("temperature")
    result.append([way.kind, way.words, way.plane and way.plane.axis, way.rank])
"""
    return in_paraview(script, cubes)


def test_a_field_of_the_simulation_is_cut_through_the_slowest_rank(ways_of_field):
    by_itself, from_the_side, plain = ways_of_field
    words = f"cut at {{}} = 1.5, through rank {INNER}, the slowest; thick lines: pieces of ranks"
    assert by_itself == ["cut", words.format("y"), 1, INNER]
    assert from_the_side == ["cut", words.format("x"), 0, INNER]
    assert plain == ["plain", "", None, None]


def test_the_middle_is_cut_where_no_rank_is_slowest_in_all_steps(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=8)
    (tmp_path / "machine").mkdir()
    run.rank_entries = [None] * 8
    for step, hot in enumerate((2, 5)):
        run.frame(step).values["compute_time_s"] = [9.0 if rank == hot else 1.0 for rank in range(8)]
    assert chosen(written(tmp_path, run, view="cut"), "compute_time_s") == [
        "cut",
        0,
        "cut at y = 0.5, the middle",
    ]


def flat(rank, cells=3):
    """The rank's unit square, the ranks along x."""
    extent = [rank * cells, (rank + 1) * cells, 0, cells, 0, 0]
    return fake_run.FakeBlock(0, "image", extent, origin=[0.0, 0.0, 0.0], spacing=[1 / cells] * 3)


@pytest.mark.parametrize("case", ["flat", "flat, to be cut", "single", "slabs", "empty piece", "new mesh"])
def test_meshes_without_hidden_ranks_are_shown_plainly(tmp_path, case):
    run = fake_run.FakeRun(tmp_path, ranks=1 if case == "single" else 4)
    (tmp_path / "machine").mkdir()
    run.rank_entries = [None] * run.n_ranks
    if case in ("flat", "flat, to be cut"):
        run.meshes = {rank: [flat(rank)] for rank in range(4)}
    if case == "empty piece":
        run.meshes[2] = [fake_run.FakeBlock(0, "unstructured", points=None)]
    if case == "new mesh":
        coarse = {rank: [fake_run.cube(rank, "unstructured", 1)] for rank in range(4)}
        run.mesh = lambda rank, version: (run.meshes if version == 1 else coarse)[rank]
        run.frame(1).mesh_version[:] = 2
    view = "cut" if "cut" in case else "auto"
    assert chosen(written(tmp_path, run, view=view), "compute_time_s") == ["plain", 0, ""]


def test_a_rank_that_hides_only_in_a_later_mesh_is_found(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=3)
    (tmp_path / "machine").mkdir()
    run.rank_entries = [None] * 3
    far = fake_run.cube(0, "unstructured", 1)
    far.points = (far.points - [0.5, 0.5, 0.5]) * 0.3 + [1.5, 0.5, 0.5]  # inside the cube of rank 1
    later = {0: [far], 1: run.meshes[1], 2: run.meshes[2]}
    run.mesh = lambda rank, version: (run.meshes if version == 1 else later)[rank]
    run.frame(1).mesh_version[:] = 2
    script = f"{CHOOSE}\nresult = sorted(chooser.hidden(0.0))"
    assert in_vtk(script, written(tmp_path, run)) == [0]


def test_the_gui_shows_the_exploded_view_if_ranks_would_be_hidden(cubes):
    script = f"""
exec(open("{perfield.__path__[0]}/catalyst_scripts/geometry.py").read(), {{"__name__": "__main__"}})
sources = {{key[0]: proxy for key, proxy in pv.GetSources().items()}}
view = pv.GetActiveView()
apart = sources["exploded view"]
mesh = [apart, sources["geometry"]]
shown = [mesh.index(shape.Input) for shape in view.Representations
         if getattr(shape, "Input", None) in mesh and shape.Visibility]
apart.UpdatePipeline()
readers = [key[0] for key, proxy in pv.GetSources().items() if key[0] == "geometry"]
result = [shown, apart.ScaleFactor, apart.GetDataInformation().GetBounds(), readers]
"""
    shown, factor, bounds, readers = in_paraview(script, cubes)
    assert readers == ["geometry"], "one mesh is in the pipeline browser"
    assert shown == [0], "the mesh itself would hide ranks"
    assert factor == 1.0
    assert bounds == pytest.approx([-1.0, 4.0] * 3)


def test_the_gui_offers_the_exploded_view_of_a_mesh_without_hidden_ranks(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=4, steps=2)
    script = f"""
exec(open("{perfield.__path__[0]}/catalyst_scripts/geometry.py").read(), {{"__name__": "__main__"}})
apart = {{key[0]: proxy for key, proxy in pv.GetSources().items()}}["exploded view"]
display = pv.GetDisplayProperties(apart, pv.GetActiveView())
result = [display.Visibility, list(display.ColorArrayName), apart.ScaleFactor]
"""
    pictures = written(tmp_path, perfield.open(path))
    assert in_paraview(script, pictures) == [0, ["POINTS", "compute_time_s"], 0.5]


NAMES = """
import mesh_picture
from labels import Labels
from mesh_values import MeshValues
from mesh_views import MeshView
from scene import Pictures, new_view
pictures = Pictures.from_environment()
times = [step["shown_at"] for step in pictures.description["steps"]]
shown = []
def keep(self, labels, avoid):
    shown.append([(label.text, label.priority, label.at) for label in labels])

Labels.show = keep

def names(field, way):
    view = new_view(alone=True)
    values = MeshValues(pictures, [field])
    made = mesh_picture.Names(pictures, view, field, way, values, mesh_picture.sight(pictures, values))
    mesh_picture.show_field(pictures, view, field, way, made)
    return made
"""


@pytest.fixture(scope="module")
def named(cubes) -> dict[str, list]:
    """The names of ranks of the cubes, and which ranks are seen where names point."""
    script = f"""{NAMES}
from hidden import _pixel
result = {{}}
for key, field, ways in (
    ("one rank stands out", "compute_time_s", (MeshView(), MeshView("exploded", 1.0), MeshView("highest"))),
    ("equal ranks", "solve_count", (MeshView(),)),
):
    for way in ways:
        names(field, way).at(times[0])
    result[key] = [[text for text, *_ in sorted(labels, key=lambda label: -label[1])] for labels in shown]
    shown.clear()
result["pointed at"] = []
for way in (MeshView(), MeshView("exploded", 1.0)):
    made = names("rank", way)
    sight, image = made._sight, made._sight.image(times[0], way)
    of_all = [sight.place(times[0], rank, way) for rank in range(27)]
    at = [None if place is None else int(image[_pixel(place, sight._camera(way))]) for place in of_all]
    result["pointed at"].append(at)
"""
    return in_vtk(script, cubes)


def test_only_the_rank_that_stands_out_carries_name_place_and_value(named):
    plain, apart, front = named["one rank stands out"]
    assert plain == [f"rank {INNER}, node0: 61 ms (hidden)"]
    assert apart == front == [f"rank {INNER}, node0: 61 ms"]


def test_names_point_at_their_own_rank(named):
    """Not at the middle of its piece, before which another rank may lie."""
    plain, apart = named["pointed at"]
    assert apart == list(range(27))
    assert sum(rank is None for rank in plain) == 8
    assert all(found in (rank, None) for rank, found in enumerate(plain))


def test_core_of_a_bound_rank_is_named(cubes, tmp_path):
    about = json.loads((cubes / "pictures.json").read_text())
    about["places"]["core"][INNER] = "core 7"
    pictures = shutil.copytree(cubes, tmp_path / "pictures")
    (pictures / "pictures.json").write_text(json.dumps(about))
    script = f"{NAMES}\nnames('compute_time_s', MeshView()).at(times[0])\nresult = shown[0][-1][0]"
    assert in_vtk(script, pictures) == f"rank {INNER}, node0, core 7: 61 ms (hidden)"


def test_equal_ranks_carry_no_names(named):
    assert named["equal ranks"] == [[]]


def test_the_pieces_in_front_follow_the_step(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=8)
    (tmp_path / "machine").mkdir()
    run.rank_entries = [None] * 8
    second = fake_run.cube(9, "unstructured")
    second.block = 1
    run.meshes[5].append(second)
    for step, hot in enumerate((2, 5)):
        run.frame(step).values["compute_time_s"] = [9.0 if rank == hot else 1.0 for rank in range(8)]
    path = written(tmp_path, run)
    script = f"""{NAMES}
way = MeshView("highest")
made = names("compute_time_s", way)
result = []
for time in times:
    ranks = made.at(time)
    made.front.UpdatePipeline(time)
    result.append([ranks, list(made.front.Selectors), made.front.GetDataInformation().GetNumberOfCells()])
"""
    two_blocks = ["/Root/rank_5_block_0", "/Root/rank_5_block_1"]
    assert in_vtk(script, path) == [[[2], ["/Root/rank_2"], 27], [[5], two_blocks, 54]]


def test_cells_seen_from_behind_have_no_edges_of_their_own(tmp_path):
    from known_runs.mesh_file_writers import turned_triangles, written_by
    from vtkmodules.vtkIOXML import vtkXMLPolyDataWriter

    writer = vtkXMLPolyDataWriter()
    writer.SetDataModeToAscii()  # Debian's VTK cannot read appended data
    written_by(writer, tmp_path / "turned.vtp", turned_triangles(6))
    script = """
from mesh_picture import _edges
mesh = pv.XMLPolyDataReader(FileName="turned.vtp")
edges = _edges(mesh, pv.CreateRenderView(), 1.0)[0]
edges.UpdatePipeline()
result = edges.GetDataInformation().GetNumberOfCells()
"""
    assert in_paraview(script, tmp_path) == 4 * 6
