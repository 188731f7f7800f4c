# SPDX-License-Identifier: BSD-3-Clause
"""The filter that arranges a written machine picture: what it moves, leaves out and keeps."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from drivers.in_paraview import in_paraview, in_vtk
from known_runs.many_nodes import large_run, placed

import perfield
from perfield.output.images import SCRIPTS
from perfield.output.picture_series import PictureSeries
from perfield.topology import Network, place, read_machines
from twins import twin

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkMultiBlockDataSet

from perfield.pictures import topology, topology_scene

MACHINE = Path(__file__).resolve().parents[1] / "fixtures" / "machines" / "two-packages-4-cores.xml"
HOSTS = ("a", "b", "c", "d")


@pytest.fixture
def layout_filter(monkeypatch):
    """The module of the filter, as ParaView finds it."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("layout_filter")


@pytest.fixture
def run(tmp_path):
    """A run of 8 ranks on 4 nodes."""
    path = twin.write_run(tmp_path / "run", ranks=8, steps=2, hosts=HOSTS, change_step=twin.one_hot_rank(7))
    for host in HOSTS:
        (path / "machine" / f"{host}.xml").write_text(MACHINE.read_text())
    return perfield.open(path)


@pytest.fixture
def scene(run):
    """The run's nodes below two switches, and one above these."""
    network = Network(
        ("s0", "s1", "top"), ((0, 2), (1, 2)), {"a": 0, "b": 0, "c": 1, "d": 1}, "topology.conf"
    )
    return topology_scene(run, place(run.rank_entries, read_machines(run.path / "machine")[0], network))


def blocks(layers) -> vtkMultiBlockDataSet:
    """Layers as the reader gives them."""
    data = vtkMultiBlockDataSet()
    for number, (name, dataset) in enumerate(layers.items()):
        data.SetBlock(number, dataset)
        data.GetMetaData(number).Set(vtkCompositeDataSet.NAME(), name)
    return data


def points(dataset) -> np.ndarray:
    return vtk_to_numpy(dataset.GetPoints().GetData())


def test_layers_keep_their_values_and_the_input_its_points(layout_filter, run, scene):
    layers = topology(run, run.frame(0), scene).layers()
    before = {name: points(dataset).copy() for name, dataset in layers.items()}
    result = vtkMultiBlockDataSet()
    layout_filter.arranged(blocks(layers), result, "ring")
    after = layout_filter.leaves(result)
    assert list(after) == list(layers)
    for name, dataset in layers.items():
        np.testing.assert_array_equal(points(dataset), before[name])
        assert not len(before[name]) or not np.allclose(points(after[name]), before[name])
        data, moved = dataset.GetCellData(), after[name].GetCellData()
        assert [moved.GetArrayName(n) for n in range(moved.GetNumberOfArrays())] == [
            data.GetArrayName(n) for n in range(data.GetNumberOfArrays())
        ]
        if name != "labels":
            assert after[name].GetNumberOfCells() == dataset.GetNumberOfCells()
    assert after["planes"].GetNumberOfPolys() == 0, "outlines hide nothing"


def test_flat_layout_has_a_bar_for_each_switch_with_its_values_and_no_links(layout_filter, run, scene):
    layers = topology(run, run.frame(0), scene).layers()
    before = {name: points(dataset).copy() for name, dataset in layers.items()}
    result = vtkMultiBlockDataSet()
    layout_filter.arranged(blocks(layers), result, "flat")
    after = layout_filter.leaves(result)
    for name, dataset in layers.items():
        np.testing.assert_array_equal(points(dataset), before[name])
        assert not dataset.GetFieldData().HasArray(layout_filter.LINES)
    assert after["links"].GetNumberOfCells() == 0
    for name in ("name", "solve_time_s"):
        own, moved = (vtk_to_numpy(of["switches"].GetCellData().GetArray(name)) for of in (layers, after))
        order = {
            number: n
            for n, number in enumerate(vtk_to_numpy(layers["switches"].GetCellData().GetArray("name")))
        }
        bars = vtk_to_numpy(after["switches"].GetCellData().GetArray("name"))
        np.testing.assert_array_equal(moved, own[[order[number] for number in bars]])
    assert sorted(bars.tolist()) == [0, 1, 2]
    for name in ("machine", "ranks", "measurements"):
        assert after[name].GetNumberOfCells() == layers[name].GetNumberOfCells()
        depth = points(after[name])[:, 2]
        assert np.ptp(depth) < 0.1, "all in front"


@pytest.mark.parametrize(("nodes", "per_node", "apart"), [(16, 8, 1.6), (32, 64, 0.0)])
def test_narrow_cells_of_the_flat_layout_have_no_space_between_them(
    layout_filter, tmp_path, nodes, per_node, apart
):
    run = large_run(tmp_path, nodes, per_node)
    result = vtkMultiBlockDataSet()
    layers = topology(run, run.frame(0), topology_scene(run, placed(run, 8))).layers()
    layout_filter.arranged(blocks(layers), result, "flat")
    after = layout_filter.leaves(result)
    pixel = after["ranks"].GetFieldData().GetArray(layout_filter.PIXEL).GetValue(0)
    corners = points(after["measurements"]).reshape(nodes, per_node, 4, 3)
    between = corners[:, 1:, 0, 0] - corners[:, :-1, 1, 0]
    np.testing.assert_allclose(between / pixel, apart, atol=0.01)


def test_side_by_side_and_torus_leave_out_switches(layout_filter, run, scene):
    data = blocks(topology(run, run.frame(0), scene).layers())
    for layout, there in (("side-by-side", 0), ("torus", 0), ("double-ring", 3), ("fat-tree", 3)):
        result = vtkMultiBlockDataSet()
        layout_filter.arranged(data, result, layout)
        assert layout_filter.leaves(result)["switches"].GetNumberOfCells() == there, layout


def test_letters_are_as_wide_as_high_and_only_ranks_have_them_in_rings(layout_filter, run, scene):
    layers = topology(run, run.frame(0), scene).layers()

    def letters(layout):
        result = vtkMultiBlockDataSet()
        layout_filter.arranged(blocks(layers), result, layout)
        return layout_filter.leaves(result)["labels"]

    stretched, straight = points(layers["labels"]), points(letters("side-by-side"))
    left = stretched[:, 0] < 0
    assert np.ptp(straight[left, 0]) < 0.5 * np.ptp(stretched[left, 0])
    assert letters("ring").GetNumberOfCells() == np.sum(
        [
            points(layers["labels"])[layers["labels"].GetCell(n).GetPointId(0), 0] >= 0
            for n in range(layers["labels"].GetNumberOfCells())
        ]
    )


def test_picture_without_planes_of_nodes_stays_as_it_is(layout_filter, run, scene):
    layers = topology(run, run.frame(0), scene).layers()
    layers["ranks"].GetFieldData().RemoveArray("node_z")
    result = vtkMultiBlockDataSet()
    layout_filter.arranged(blocks(layers), result, "ring")
    np.testing.assert_array_equal(points(layout_filter.leaves(result)["ranks"]), points(layers["ranks"]))
    assert layout_filter.hull("ring", layers) is None


def test_all_layouts_fill_the_image_with_named_nodes(run, scene, tmp_path):
    PictureSeries(run, [0, 1], tmp_path / "pictures", None, scene, layout="ring").write()
    script = """
import os, machine_picture, layouts
import numpy as np
from labels import Camera
from scene import Pictures, new_view
pictures = Pictures.from_environment()
result = {"written": pictures.layout}
for layout in layouts.LAYOUTS[2:]:
    os.environ["PERFIELD_LAYOUT"] = layout
    view = new_view(alone=True)
    view.ViewSize = (1280, 720)
    made = machine_picture.show_layers(pictures, view, "measurements", "solve_time_s")
    names = machine_picture.Names(pictures, view, "measurements", "solve_time_s", made[-1])
    names.at()
    layers = machine_picture.layout_filter.leaves(made[-1].GetClientSideObject().GetOutputDataObject(0))
    shown = [machine_picture.vtk_to_numpy(layers[name].GetPoints().GetData())
             for name in ("planes", "messages", "switches") if layers[name].GetNumberOfPoints()]
    pixels = Camera(view).pixels(np.concatenate(shown))
    texts = [text.Text for text in names.proxies if getattr(text, "Text", "")]
    result[layout] = [pixels.min(axis=0).tolist(), pixels.max(axis=0).tolist(), texts]
"""
    result = in_vtk(script, tmp_path / "pictures")
    assert result.pop("written") == "ring"
    for layout, (low, high, texts) in result.items():
        assert low[0] >= 0.01 * 1280 and high[0] <= 0.77 * 1280, layout
        assert low[1] >= 0.12 * 720 and high[1] <= 0.83 * 720, layout
        assert high[0] - low[0] > 0.5 * 1280 or high[1] - low[1] > 0.5 * 720, layout
        assert set(HOSTS) <= set(texts), layout
        assert any(text.startswith("rank 7, d") for text in texts), layout


def test_script_of_the_filter_changes_the_layout_in_paraview(run, scene, tmp_path):
    pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")
    PictureSeries(run, [0, 1], tmp_path / "pictures", None, scene, layout="torus").write()
    script = """
import machine_picture
from scene import Pictures
pictures = Pictures.from_environment()
picture = machine_picture._arranged(pictures.read("topology"), pictures.layout)
picture.Script = picture.Script.replace('"torus"', '"planes"')
picture.UpdatePipeline()
layers = machine_picture.layout_filter.leaves(picture.GetClientSideObject().GetOutputDataObject(0))
result = [layers["planes"].GetNumberOfPolys(), layers["planes"].GetBounds()]
"""
    polygons, bounds = in_paraview(script, tmp_path / "pictures")
    assert polygons == 4 and bounds == pytest.approx(scene.planes.GetBounds())
