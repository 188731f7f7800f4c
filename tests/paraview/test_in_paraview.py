# SPDX-License-Identifier: BSD-3-Clause
"""The plugin in ParaView's own Python and in its window."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from drivers.in_paraview import in_paraview

import perfield
from perfield.output.images import display
from perfield.paraview.plugin import write_plugin
from twins import twin


@pytest.fixture
def run_path(tmp_path):
    """A run of 4 ranks, in a directory with a name that is hard to quote."""
    return twin.write_run(tmp_path / 'it\'s a "run"', ranks=4, steps=5)


READ = """
from vtkmodules.vtkCommonCore import vtkOutputWindow, vtkStringOutputWindow
before, window = vtkOutputWindow.GetInstance(), vtkStringOutputWindow()
vtkOutputWindow.SetInstance(window)
pv.LoadPlugin({plugin!r}, remote=False, ns=globals())
reader = pv.OpenDataFile({file!r})
result = {{"label": type(reader).__name__, "times": list(reader.TimestepValues), "solve_s": []}}
for time in (1.0, 2.0):
    reader.UpdatePipeline(time)
    result["solve_s"].append(reader.PointData["solve_compute_time_s"].GetRange())
chosen = Messagesofranks(Input=reader, Ranks="1")
chosen.UpdatePipeline(2.0)
result["sent"] = chosen.PointData["to_chosen_bytes"].GetRange()
result["received"] = chosen.PointData["from_chosen_bytes"].GetRange()
chosen.Ranks = "7"
chosen.UpdatePipeline(2.0)
result["said"] = window.GetOutput()
result["empty"] = chosen.GetDataInformation().GetNumberOfPoints()
chosen.Ranks = "2"
chosen.UpdatePipeline(2.0)
result["sent again"] = chosen.PointData["to_chosen_bytes"].GetRange()
reader.Picture = "machine"
reader.UpdatePipeline(2.0)
result["machine"] = reader.CellData["rank"].GetRange()
vtkOutputWindow.SetInstance(before)
"""


def test_run_opens_by_its_name_and_filters_follow(run_path, tmp_path):
    plugin = write_plugin(tmp_path / "plugin/perfield.xml")
    result = in_paraview(READ.format(plugin=str(plugin), file=str(run_path / "run.json")), tmp_path)
    assert result["label"] == "perfieldrun"
    assert result["times"] == [0.5, 1.0, 1.5, 2.0, 2.5]
    for step, (least, most) in zip((1, 3), result["solve_s"]):
        assert least == pytest.approx(1e-3 + 1e-6 * step)
        assert most == pytest.approx(4e-3 + 1e-6 * step)
    assert result["sent"] == [2000, 2000] and result["received"] == [4000, 4000]
    sentence = "'7' is not a rank or range of ranks of this run, which has ranks 0 to 3; give 12 or 4-7."
    assert result["said"].strip() == f"perfield: {sentence}" and result["empty"] == 0
    assert result["sent again"] == [4000, 4000]
    assert result["machine"] == [0, 3]


OTHER_PYTHON = """
import sys
from vtkmodules.vtkCommonCore import vtkOutputWindow, vtkStringOutputWindow
before, window = vtkOutputWindow.GetInstance(), vtkStringOutputWindow()
vtkOutputWindow.SetInstance(window)
sys.path = [path for path in sys.path if not os.path.isdir(path + "/perfield")]
pv.LoadPlugin({plugin!r}, remote=False, ns=globals())
reader = pv.OpenDataFile({file!r})
reader.UpdatePipeline()
result = window.GetOutput()
vtkOutputWindow.SetInstance(before)
"""


def test_plugin_of_another_python_says_what_to_install(run_path, tmp_path):
    plugin = write_plugin(tmp_path / "perfield.xml")
    packages = str(Path(perfield.__file__).resolve().parents[1])
    plugin.write_text(plugin.read_text().replace(packages, "/nowhere"))
    script = "import os\n" + OTHER_PYTHON.format(plugin=str(plugin), file=str(run_path / "run.json"))
    said = in_paraview(script, tmp_path)
    assert said.startswith(
        "perfield cannot be loaded from /nowhere (No module named 'perfield'). This ParaView"
    )
    assert "Install perfield for the former" in said


IN_WINDOW = """
import json, os, traceback
import paraview.simple as pv
from paraview.simple import *
try:
    reader = pv.OpenDataFile(os.environ["TEST_RUN"])
    view = pv.GetActiveViewOrCreate("RenderView")
    view.ViewSize = [400, 300]
    result = {"first": [], "colours": [], "modes": []}

    def first_look(source):
        display = pv.Show(source, view)
        pv.Render(view)
        table = pv.GetColorTransferFunction(list(display.ColorArrayName)[1])
        shown = display.Representation, *display.ColorArrayName
        result["first"].append([str(word).strip("'") for word in shown])
        result["colours"].append([float(table.RGBPoints[at]) for at in (0, -4)])
        result["modes"].append(str(table.AutomaticRescaleRangeMode).strip("'"))
        return display

    shown = first_look(reader)
    first_look(Messagesofranks(Input=reader))
    pv.ColorBy(shown, ("POINTS", "rank"))
    result["times"] = [float(time) for time in pv.GetTimeKeeper().TimestepValues]
    pv.SaveScreenshot(os.environ["TEST_RUN"] + ".png", view)
except Exception:
    result = traceback.format_exc()
with open(os.environ["TEST_RUN"] + ".result", "w") as file:
    json.dump(result, file)
os._exit(0)
"""


@pytest.mark.skipif(shutil.which("paraview") is None, reason="the program paraview is not installed")
def test_window_loads_the_plugin_and_colours_what_it_shows_from_0(run_path, tmp_path):
    write_plugin(tmp_path / "plugin/perfield.xml")
    script = tmp_path / "script.py"
    script.write_text(IN_WINDOW)
    file = run_path / "run.json"
    with display() as number:
        changes = {"DISPLAY": number, "TEST_RUN": str(file), "PV_PLUGIN_PATH": str(tmp_path / "plugin")}
        changes |= {"XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": ""}
        (tmp_path / "ParaView.ini").write_text("[General]\nGeneralSettings.ShowWelcomeDialog=false\n")
        changes["XDG_CONFIG_DIRS"] = str(tmp_path)
        done = subprocess.run(
            ["paraview", f"--script={script}"],
            env={**os.environ, **changes},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    result = json.loads(file.with_name("run.json.result").read_text())
    assert "times" in result, (result, done.stderr)
    assert result["first"] == [
        ["Surface", "POINTS", "compute_time_s"],
        ["Surface", "POINTS", "to_chosen_count"],
    ]
    assert result["colours"] == [[0, pytest.approx(4e-3, rel=0.2)], [0, 3]]
    assert result["modes"] == ["Grow and update every timestep"] * 2
    assert result["times"] == [0.5, 1.0, 1.5, 2.0, 2.5], (result, done.stderr)
    image = plt.imread(file.with_name("run.json.png"))
    assert len({tuple(pixel) for pixel in image[::10, ::10, :3].reshape(-1, 3).round(1).tolist()}) >= 5
