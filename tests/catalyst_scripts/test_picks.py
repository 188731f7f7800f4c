# SPDX-License-Identifier: BSD-3-Clause
"""A pick in one view selects the same ranks in the other, and a text says which they are."""

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

MACHINE = Path(__file__).resolve().parents[1] / "fixtures" / "machines" / "two-packages-4-cores.xml"
SETUP = f"""
import follow, layout_filter, labels, picks
from paraview import selection
exec(open("{SCRIPTS}/both.py").read(), {{"__name__": "__main__"}})
left, right = pv.GetViews()
pictures = follow._observed[0]._pictures
mesh, values = pv.FindSource("geometry"), pv.FindSource("measurements")
parts = next(shape.Input for shape in right.Representations
             if shape.Visibility and follow._name(getattr(shape, "Input", None)) == "parts of the machine"
             and shape.ColorArrayName[1])

def selected(source):
    if source.SMProxy.GetSelectionInput(0) is None:
        return []
    found = source.SMProxy.GetSelectionOutput(0)
    found.UpdatePipeline()
    data = found.GetClientSideObject().GetOutputDataObject(0)
    ranks = []
    for leaf in layout_filter.leaves(data).values():
        for arrays in (leaf.GetCellData(), leaf.GetPointData()):
            array = arrays.GetArray("rank")
            if array is not None:
                ranks += [int(array.GetTuple1(n)) for n in range(array.GetNumberOfTuples())]
    return sorted(set(ranks))

def words(view):
    return [shape.Input.Text for shape in view.Representations
            if shape.GetXMLName() == "TextSourceRepresentation" and shape.Visibility
            and follow._name(shape.Input) == "selected ranks"]

def look():
    return [selected(mesh), selected(values), words(left), words(right)]
"""
PICKS = f"""{SETUP}
result = {{}}
x, y = map(int, labels.Camera(left).pixels([(3.5 / 8, 0.5, 1.0)])[0])  # on top of the piece of rank 3
selection.SelectSurfaceCells(Rectangle=[x, y, x + 1, y + 1], View=left)
pv.Render(left)
result["cell of the mesh"] = look()
selection.QuerySelect("rank == 6", "CELL", values)
pv.Render(right)
result["cell of the machine"] = look()
left.ViewTime = right.ViewTime = 2.0
pv.RenderAllViews()
result["later"] = look()
selection.QuerySelect("(n_ranks == 4) & (node_id == 1)", "CELL", parts)
pv.Render(right)
result["package"] = look()
lines = next(shape.Input for shape in right.Representations if shape.Visibility
             and follow._layer(getattr(shape, "Input", None), pictures) == "topology/messages")
selection.QuerySelect("(source_node == 0) & (target_node == 1)", "CELL", lines)
pv.Render(right)
result["line"] = look()
selection.ClearSelection(values)
pv.Render(right)
result["cleared"] = look()
"""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """The pictures of a run of eight ranks on two hosts."""
    path = tmp_path_factory.mktemp("picks")
    run = perfield.open(twin.write_run(path / "run", ranks=8, steps=4, hosts=("a", "b")))
    for host in ("a", "b"):
        (run.path / "machine" / f"{host}.xml").write_text(MACHINE.read_text())
    run = perfield.open(run.path)
    options = GeometryOptions(pieces=choose_pieces(run))
    PictureSeries(run, [0, 2, 3], path / "pictures", options, topology_scene(run), layout="planes").write()
    return path / "pictures"


@pytest.fixture(scope="module")
def seen(pictures) -> dict[str, list]:
    """What is selected and said after each of some picks."""
    return in_paraview(PICKS, pictures)


def test_cell_of_the_mesh_selects_its_rank_on_the_machine_and_says_what_it_is(seen):
    of_mesh, of_machine, left, right = seen["cell of the mesh"]
    assert of_mesh == of_machine == [3]
    assert left == right
    assert left[0].splitlines() == [
        "rank 3, a, core 3: compute time 4.1 ms",
        "  sends to 4 (8 kB)",
        "  receives from 2 (6 kB)",
    ]


def test_cell_of_the_machine_selects_the_piece_of_its_rank_at_all_steps(seen):
    assert seen["cell of the machine"][:2] == seen["later"][:2] == [[6], [6]]
    assert seen["later"][2][0].startswith("rank 6, b, core 6: compute time 7.1 ms")


def test_part_of_the_machine_stands_for_its_ranks(seen):
    of_mesh, of_machine, left, _ = seen["package"]
    assert of_mesh == of_machine == [4, 5, 6, 7]
    assert [line.split(":")[0] for line in left[0].splitlines()[::3]] == [
        f"rank {rank}, b, core {rank}" for rank in (4, 5, 6, 7)
    ]


def test_line_between_nodes_stands_for_the_ranks_of_both(seen):
    assert seen["line"][:2] == [[*range(8)], [*range(8)]]


def test_cleared_selection_clears_all(seen):
    assert seen["cleared"] == [[], [], [], []]
