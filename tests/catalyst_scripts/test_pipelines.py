# SPDX-License-Identifier: BSD-3-Clause
"""The ParaView pipelines: stock ParaView opens what was written, with times, layers and colours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import perfield
import twin
from perfield.output.images import SCRIPTS, display
from perfield.output.pictures import Pictures
from perfield.pictures.geometry_picture import GeometryOptions
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.topology_picture import topology, topology_scene

pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """Pictures of 3 of the 6 steps of a run on two hosts."""
    path = tmp_path_factory.mktemp("pipelines")
    twin.write_run(path / "run", ranks=4, steps=6, hosts=("a", "b"))
    run = perfield.open(path / "run")
    scene = topology_scene(run)
    options = GeometryOptions(pieces=choose_pieces(run))
    Pictures(run, [0, 2, 5], path, options, lambda run, frame: topology(run, frame, scene)).write()
    return path


def in_paraview(script: str, pictures: Path):
    """What a script leaves in `result`, run by ParaView's Python with the pipelines on its path."""
    text = f"import json, paraview.simple as pv\n{script}\nprint('RESULT', json.dumps(result))"
    with display() as number:
        environment = {
            **os.environ,
            "DISPLAY": number,
            "PYTHONPATH": str(SCRIPTS),
            "PERFIELD_PICTURES": str(pictures),
        }
        command = [sys.executable, "-c", text]
        done = subprocess.run(
            command, env=environment, cwd=pictures, capture_output=True, text=True, check=False, timeout=120
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.rpartition("RESULT")[2])


def test_stock_paraview_opens_each_series_with_the_programs_times_and_values(pictures):
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


def test_each_layer_of_the_topology_can_be_shown_alone(pictures):
    script = """
from scene import Pictures
from topology import LAYERS, selector
reader = Pictures.from_environment().read("topology")
result = {}
for layer in LAYERS:
    block = pv.ExtractBlock(Input=reader, Selectors=[selector(reader, layer)])
    block.UpdatePipeline()
    result[layer] = block.GetDataInformation().GetNumberOfCells()
"""
    result = in_paraview(script, pictures)
    assert (result["ranks"], result["measurements"], result["messages"]) == (4, 4, 4)
    assert result["machine"] >= 4


@pytest.mark.parametrize("name", ["geometry", "topology"])
def test_a_pipeline_opens_the_pictures_when_run_as_the_gui_does(pictures, name):
    script = f"""
exec(open("{SCRIPTS}/{name}.py").read(), {{"__name__": "__main__"}})
shown = [pv.GetDisplayProperties(source) for source in pv.GetSources().values()]
result = [list(shape.ColorArrayName) for shape in shown if hasattr(shape, "ColorArrayName")]
"""
    expected = {"geometry": ["POINTS", "solve_time_s"], "topology": ["CELLS", "topology_type"]}
    assert expected[name] in in_paraview(script, pictures)


def test_labels_name_the_field_and_end_with_its_unit(pictures):
    script = """
from colours import label
names = ("solve_time_s", "a_b_time_per_cell_s", "isend_bytes", "put_count_to_3", "node_id", "temperature")
result = [label(name) for name in names]
"""
    assert in_paraview(script, pictures) == [
        *("solve time (s)", "a_b time per cell (s)", "isend (bytes)", "put (number) to rank\u00a03"),
        *("node id", "temperature"),
    ]
