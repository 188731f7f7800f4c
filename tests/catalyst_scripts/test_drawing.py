# SPDX-License-Identifier: BSD-3-Clause
"""ParaView's proxies and VTK alone draw the same pictures: one code draws with both."""

from __future__ import annotations

import importlib
import json

import pytest
from drivers.in_paraview import in_paraview

import perfield
from perfield.output.images import SCRIPTS, draw_images
from perfield.output.picture_series import PictureSeries
from perfield.pictures.geometry_picture import GeometryOptions
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.topology_picture import topology_scene
from twins import twin

pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")
files = pytest.importorskip("matplotlib.image", reason="matplotlib is not installed")

MOST_DIFFER = {3: 0.02, 5: 0.02}  # of pixels: VTK alone smooths the small letters of the flat machine
INNER = 13  # at (1, 1, 1) of 3 x 3 x 3 ranks
SHOWN = {
    "ranks in front, of which one is named": ("geometry", "compute_time_s"),
    "cells with edges, one colour per rank": ("geometry", "rank"),
    "messages on the faces between pieces": ("messages", "sent_bytes"),
    "the flat machine": ("topology/measurements", "compute_time_s"),
    "categories": ("topology/machine", "topology_type"),
    "messages between nodes as tubes": ("topology/messages", "sent_bytes"),
    "a field of the simulation, cut, of which one rank is named": ("geometry", "temperature"),
}
IN_PARAVIEW = """
from pathlib import Path
import images
from scene import Pictures
planned = json.loads(Path("images.json").read_text())
pictures = Pictures.from_environment()
images.draw(pictures, planned, [(number, 0) for number in range(len(planned))], Path("in_paraview"))
result = pv is images.pv
"""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The folders of the images that ParaView drew, and VTK; and the names of the files in them."""
    path = tmp_path_factory.mktemp("drawing")
    hot = twin.one_hot_rank(INNER)
    run = twin.write_run(path / "run", ranks=27, steps=2, blocks=(3, 3, 3), hosts=("a", "b"), change_step=hot)
    run = perfield.open(run)
    scene = topology_scene(run)
    options, written = GeometryOptions(pieces=choose_pieces(run)), path / "pictures"
    pictures = PictureSeries(run, [0, 1], written, options, scene)
    pictures.write()
    step = pictures.description["steps"][1]
    planned = [
        {**{"layer": layer, "field": field, "focus": None, "static": False}, "steps": [step], "files": [file]}
        for (layer, field), file in ((shown, f"{number}.png") for number, shown in enumerate(SHOWN.values()))
    ]
    for folder in ("in_paraview", "in_vtk"):
        (path / folder).mkdir()
    draw_images(written, planned, folder=path / "in_vtk")
    (path / "images.json").write_text(json.dumps(planned))
    script = f"os.chdir({str(path)!r})\n{IN_PARAVIEW}"
    assert in_paraview(script, written), "the pipelines' own `pv` is not ParaView's"
    return path


@pytest.mark.parametrize("number", range(len(SHOWN)), ids=list(SHOWN))
def test_paraview_and_vtk_draw_the_same_image(drawn, number):
    paths = [drawn / folder / f"{number}.png" for folder in ("in_paraview", "in_vtk")]
    by_paraview, by_vtk = (files.imread(path)[..., :3] for path in paths)
    assert by_paraview.shape == by_vtk.shape
    assert (by_vtk < 1).any(axis=2).mean() > 0.03, "the image shows nothing"
    differ = abs(by_paraview - by_vtk).max(axis=2) > 0.15  # lines that hide each other, the legend's letters
    assert differ.mean() < MOST_DIFFER.get(number, 0.006), paths


def test_data_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    vtk_sources = importlib.import_module("vtk_sources")
    listed = '<DataSet timestep="0.5" part="0" file="step.vtm"/>'
    (tmp_path / "topology.pvd").write_text(f"<VTKFile><Collection>{listed}</Collection></VTKFile>")
    (tmp_path / "step.vtm").write_text("<VTKFile type")
    reader = vtk_sources.PVDReader(FileName=str(tmp_path / "topology.pvd"))
    with pytest.raises(ValueError, match=r"step\.vtm cannot be read; `perfield render RUN` writes it again"):
        reader.UpdatePipeline(0.5)
