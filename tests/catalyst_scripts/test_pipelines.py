# SPDX-License-Identifier: BSD-3-Clause
"""The ParaView pipelines: stock ParaView opens the written pictures with times, layers and colours."""

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


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """PictureSeries of 3 of the 6 steps of a run on two hosts."""
    path = tmp_path_factory.mktemp("pipelines")
    twin.write_run(path / "run", ranks=4, steps=6, hosts=("a", "b"))
    run = perfield.open(path / "run")
    options = GeometryOptions(pieces=choose_pieces(run))
    PictureSeries(run, [0, 2, 5], path / "pictures", options, topology_scene(run)).write()
    return path / "pictures"


def test_stock_paraview_opens_series_with_program_times(pictures):
    script = f"""
result = {{}}
for name in ("geometry", "messages", "topology"):
    reader = pv.OpenDataFile("{pictures}/" + name + ".pvd")
    result[name] = list(reader.TimestepValues)
    if name == "geometry":
        reader.UpdatePipeline(3.0)
        result["range"] = reader.PointData["solve_time_s"].GetRange(0)
"""
    result = in_paraview(script, pictures)
    assert result["geometry"] == result["messages"] == result["topology"] == [0.5, 1.5, 3.0]
    assert result["range"] == pytest.approx([twin.solve_ns(rank, 5) * 1e-9 for rank in (0, 3)])


def test_each_topology_layer_can_be_shown_alone(pictures):
    script = """
from scene import Pictures
from machine_picture import LAYERS, selector
reader = Pictures.from_environment().read("topology")
result = {}
for layer in LAYERS:
    block = pv.ExtractBlock(Input=reader, Selectors=[selector(reader, layer)])
    block.UpdatePipeline()
    result[layer] = block.GetDataInformation().GetNumberOfCells()
"""
    result = in_paraview(script, pictures)
    assert (result["ranks"], result["measurements"], result["messages"]) == (4, 4, 2)
    assert result["machine"] >= 4


@pytest.mark.parametrize("name", ["geometry", "topology", "both"])
def test_gui_script_opens_the_pictures(pictures, name):
    script = f"""
exec(open("{SCRIPTS}/{name}.py").read(), {{"__name__": "__main__"}})
shown = [
    list(shape.ColorArrayName)
    for view in pv.GetViews()
    for shape in view.Representations
    if hasattr(shape, "ColorArrayName")
]
names = {{source: key[0] for key, source in pv.GetSources().items()}}
result = [shown, names[pv.GetActiveSource()], pv.GetAnimationScene().AnimationTime, len(pv.GetViews())]
"""
    shown, active, time, views = in_paraview(script, pictures)
    expected = {"geometry": ["POINTS", "compute_time_s"], "topology": ["CELLS", "compute_time_s"]}
    for picture in expected if name == "both" else [name]:
        assert expected[picture] in shown
    assert active == ("topology" if name == "topology" else "geometry")
    assert time == 0.5  # the first step's time
    assert views == (2 if name == "both" else 1)


def test_title_follows_time_and_names_program_ranks_and_step(pictures):
    script = """
from scene import Pictures, new_view, set_title
pictures = Pictures.from_environment()
reader = pictures.read("geometry")
title = set_title(new_view(), "solve time", pictures.titles(), reader)
result = []
for time in reader.TimestepValues:
    title.UpdatePipeline(time)
    result.append(title.GetClientSideObject().GetOutputDataObject(0).GetColumn(0).GetValue(0))
"""
    assert in_paraview(script, pictures) == [
        f"solve time\nheat, 4 ranks, 2023-11-14, step {step}, time {words}"
        for step, words in ((1, "0.5"), (3, "1.5"), (6, "3, the slowest to compute"))
    ]


def test_colouring_uses_association_vector_magnitude_and_whole_numbers_of_integers(pictures):
    script = """
from colours import colour
from scene import new_view
source = pv.Wavelet()
cells = pv.PointDatatoCellData(Input=source)
vectors = pv.Calculator(Input=source, ResultArrayName="U", Function="RTData*iHat")
levels = pv.Calculator(Input=source, ResultArrayName="box_level", Function="RTData")
whole = {"range": [0, 2], "unit": "", "whole": True}
view = new_view()
result = []
about = {"range": [0.0, 0.02], "title": "name", "unit": "s", "absent": False}
for source, field, more in (
    (cells, "RTData", {"association": "CELLS", "components": 1}),
    (vectors, "U", {"association": "POINTS", "components": 3}),
    (levels, "box_level", {"association": "POINTS", "components": 1, **whole}),
):
    display = pv.Show(source, view)
    legend = colour(display, view, field, {**about, **more})
    table = pv.GetColorTransferFunction(field)
    words = [legend.Title.split(), list(table.Annotations)[-4:]]
    result.append([list(display.ColorArrayName), str(table.VectorMode), *words])
"""
    cells, vectors, levels = in_paraview(script, pictures)
    assert (cells[0], cells[2], cells[3][-2:]) == (["CELLS", "RTData"], ["name", "(ms)"], ["0.02", "  20"])
    assert vectors[:3] == [["POINTS", "U"], "'Magnitude'", ["name", "magnitude", "(ms)"]]
    assert levels[3] == ["1.0", "  1", "2.0", "  2"]


def test_unknown_peers_are_a_separate_category(pictures):
    script = """
from colours import UNKNOWN, colour
from scene import new_view
view = new_view()
result = []
about = {"title": "peer", "unit": "", "absent": False, "association": "POINTS", "components": 1}
for last in (1, 99, -3):
    source = pv.Calculator(Input=pv.Wavelet(), ResultArrayName="target", Function="RTData")
    legend = colour(pv.Show(source, view), view, "target", {**about, "range": [-3, last]})
    table = pv.GetColorTransferFunction("target")
    below = table.UseBelowRangeColor and list(table.BelowRangeColor) == list(UNKNOWN)
    marked = list(table.IndexedColors)[-3:] == list(UNKNOWN) if table.InterpretValuesAsCategories else below
    result.append([list(table.Annotations)[:2], list(table.Annotations)[-2:], marked, legend.Title.split()])
"""
    few, many, none = in_paraview(script, pictures)
    unknown = ["-3.0", "  peer unknown"]
    assert few == [["0.0", "  0"], unknown, True, ["peer"]]
    assert none == [unknown, unknown, True, ["peer"]]
    assert (many[0], many[2:]) == (["0.0", "  0"], [True, ["peer", "dark:", "peer", "unknown"]])


def test_legend_of_a_category_has_the_numbers_that_occur_in_their_usual_colours(pictures):
    script = """
from colours import PALETTE, colour
from scene import new_view
source = pv.Calculator(Input=pv.Wavelet(), ResultArrayName="hops", Function="RTData")
about = {"title": "hops", "unit": "", "absent": False, "association": "POINTS", "components": 1}
colour(pv.Show(source, new_view()), new_view(), "hops", {**about, "range": [0, 4], "values": [0, 3]})
table = pv.GetColorTransferFunction("hops")
result = [list(table.Annotations), list(table.IndexedColors) == [*PALETTE[0], *PALETTE[3]]]
"""
    assert in_paraview(script, pictures) == [["0.0", "  0", "3.0", "  3"], True]


def test_legend_title_breaks_only_between_words(pictures):
    script = """
from colours import title_lines
from scene import new_view
view = new_view()
view.ViewSize = (1600, 1000)
result = [title_lines(title, view) for title in ("flux (x-dir) time per cell (ms)", "a" * 30 + " time (s)")]
"""
    first, second = in_paraview(script, pictures)
    assert " ".join(first) == "flux (x-dir) time per cell (ms)"
    assert all(line.split()[0] in ("flux", "cell", "per", "time", "(ms)") for line in first)
    assert "..." in second[0] and second[-1].endswith("time (s)")


def test_title_dates_older_parts_and_notes_values_beyond_the_scale(pictures):
    script = """
from scene import Pictures
pictures = Pictures.from_environment()
first, second, _ = pictures.description["steps"]
first.update(mesh_age="mesh of step 10", fields_age="fields of step 0")
about = pictures.arrays("geometry")["solve_time_s"]
about["beyond"] = {"2": {"peak": 0.338, "scale": None}}
pictures.arrays("geometry")["temperature"]["beyond"] = {"2": {"peak": 400.0, "scale": [0, 400]}}
solve = "solve_time_s"
layers = (("geometry", solve), ("geometry", "temperature"), ("topology/measurements", solve))
result = [[line.split("\\n")[1:] for line in pictures.titles(*names)][:2] for names in layers]
"""
    values, own, machine = in_paraview(script, pictures)
    assert values == [["mesh of step 10"], ["beyond the scale: up to 338 ms"]]
    assert own[0] == ["mesh of step 10, fields of step 0"]
    assert own[1] == ["a scale of its own, beyond the scale: up to 400"]
    assert machine == [[], []]


def test_values_over_steps_name_the_mesh_if_it_changes_and_how_it_was_found(pictures):
    script = """
from images import static_line
from scene import Pictures
pictures = Pictures.from_environment()
steps = pictures.description["steps"]
result = [static_line(pictures, "geometry", steps[1])]
steps[2]["mesh"] = 1
result += [static_line(pictures, layer, steps[1]) for layer in ("geometry", "topology/measurements")]
pictures.description["mesh_way"] = "mesh from m.vtu"
result += [static_line(pictures, layer, steps[1]) for layer in ("geometry", "topology/measurements")]
"""
    run = "heat, 4 ranks, 2023-11-14"
    later = f"{run}, on the mesh of step 3"
    assert in_paraview(script, pictures) == [run, later, run, f"{later}\nmesh from m.vtu", run]
