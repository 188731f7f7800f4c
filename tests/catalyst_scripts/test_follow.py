# SPDX-License-Identifier: BSD-3-Clause
"""In the GUI, titles, legends and colours follow the array that the user chooses.

ParaView's Python colours a display as the toolbar does, and draws the view.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from drivers.in_paraview import in_paraview

import perfield
from perfield.output.images import SCRIPTS
from perfield.output.picture_series import PictureSeries
from perfield.pictures.geometry_picture import GeometryOptions
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.topology_picture import topology_scene
from twins import twin

pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")

SETUP = f"""
exec(open("{SCRIPTS}/both.py").read(), {{"__name__": "__main__"}})
left, right = pv.GetViews()
mesh = pv.GetDisplayProperties(pv.FindSource("geometry"), left)
ranks = pv.GetDisplayProperties(pv.FindSource("measurements"), right)

def choose(display, view, association, field):
    pv.ColorBy(display, (association, field))  # ParaView's own colours, as its toolbar does
    pv.GetColorTransferFunction(field).RescaleTransferFunction(0.0, 123.0)
    pv.Render(view)

def seen(view):
    shown = {{"legends": []}}
    for shape in view.Representations:
        if shape.GetXMLName() == "ScalarBarWidgetRepresentation" and shape.Visibility:
            shown["legends"].append(" ".join(shape.Title.split()))
            shown["text"] = list(shape.TitleColor)
        elif shape.GetXMLName() == "TextSourceRepresentation" and "Annotation" in shape.Input.GetXMLName():
            title = shape.Input.GetClientSideObject().GetOutputDataObject(0).GetColumn(0).GetValue(0)
            shown["title"] = title.splitlines()[0]
    return shown
"""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """The pictures of a run on two hosts."""
    path = tmp_path_factory.mktemp("follow")
    run = perfield.open(twin.write_run(path / "run", ranks=4, steps=4, hosts=("a", "b")))
    options = GeometryOptions(pieces=choose_pieces(run))
    PictureSeries(run, [0, 2, 3], path / "pictures", options, topology_scene(run)).write()
    return path / "pictures"


# One after another in the same window: each chooses other arrays than the one before.
CHOICES = f"""{SETUP}
result = {{}}

def coloured():
    return [shape.ColorArrayName[1] for shape in right.Representations
            if hasattr(shape, "ColorArrayName") and shape.Visibility and shape.ColorArrayName[1]]
first = coloured()
choose(ranks, right, "CELLS", "rank")
result["on the machine"] = [seen(left), seen(right), list(mesh.ColorArrayName)]
blank = [coloured(), seen(right)["legends"]]
choose(ranks, right, "CELLS", "mpi_wait_time_s")
result["blank"] = [first, *blank, coloured(), seen(right)["legends"]]
choose(ranks, right, "CELLS", "rank")

choose(mesh, left, "POINTS", "mpi_wait_time_s")
table = pv.GetColorTransferFunction("mpi_wait_time_s")
result["on the mesh"] = [seen(left), seen(right), list(ranks.ColorArrayName), list(table.RGBPoints)[::4][-1]]

before = seen(right)
choose(mesh, left, "POINTS", "temperature")
result["on the mesh alone"] = [seen(left), seen(right) == before]

result["backgrounds"] = []
for background in ([0.05, 0.05, 0.1], [0.9, 0.9, 0.9]):
    left.Background = background
    pv.Render(left)
    titles = [s.Color for s in left.Representations if s.GetXMLName() == "TextSourceRepresentation"]
    result["backgrounds"].append([seen(left)["text"][0], list(titles[0])[0]])

slice = pv.Slice(Input=pv.FindSource("geometry"))
pv.Hide(pv.FindSource("geometry"), left)
choose(pv.Show(slice, left), left, "POINTS", "solve_count")
result["filter"] = seen(left)
"""


@pytest.fixture(scope="module")
def shown(pictures) -> dict[str, list]:
    """What the views show after each of these choices."""
    return in_paraview(CHOICES, pictures)


def test_title_legend_and_other_view_follow_the_chosen_array(shown):
    left, right, array, end = shown["on the mesh"]
    assert left["title"] == right["title"] == "MPI wait time"
    assert left["legends"] == right["legends"] == ["MPI wait time (ms)"]
    assert array == ["CELLS", "mpi_wait_time_s"]
    assert end < 1.0, "the colours end at the range of the values, not where ParaView put it"


def test_choice_on_the_machine_is_followed_by_the_mesh(shown):
    left, right, array = shown["on the machine"]
    assert (left["title"], right["title"], array) == ("rank", "rank", ["POINTS", "rank"])
    assert left["legends"] == right["legends"] == ["rank"]


def test_parts_of_the_machine_without_the_chosen_array_are_blank_until_they_have_one(shown):
    first, blank, legend, again, last = shown["blank"]
    assert first == ["compute_time_s", "compute_time_s"]
    assert (blank, legend) == (["rank"], ["rank"])
    assert (again, last) == (["mpi_wait_time_s", "mpi_wait_time_s"], ["MPI wait time (ms)"])


def test_view_without_the_chosen_array_keeps_its_own(shown):
    left, same = shown["on the mesh alone"]
    assert (left["title"], left["legends"], same) == ("temperature", ["temperature"], True)


def test_separate_views_keep_their_arrays(pictures):
    script = f"""import os
os.environ["PERFIELD_SEPARATE"] = "1"
{SETUP}
before = seen(right)
choose(mesh, left, "POINTS", "mpi_wait_time_s")
result = [seen(left)["title"], seen(right) == before]
"""
    assert in_paraview(script, pictures) == ["MPI wait time", True]


def test_users_own_filter_of_the_mesh_gets_title_and_legend(shown):
    of_filter = shown["filter"]
    assert (of_filter["title"], of_filter["legends"]) == ("solve entries", ["solve entries"])


def test_texts_are_light_on_a_dark_background_and_dark_on_a_light_one(shown):
    dark, light = shown["backgrounds"]
    assert min(dark) > 0.9
    assert max(light) < 0.2
