# SPDX-License-Identifier: BSD-3-Clause
"""Runs scripts with the pipelines on their path, in forks of one Python with ParaView, or with VTK alone.

What ParaView's proxies decide runs in ParaView. What pictures compute alike with both runs with VTK alone, in
a fraction of the time; tests/catalyst_scripts/test_drawing.py compares the two.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from drivers.warm_python import WarmPython
from perfield.output.images import SCRIPTS

ON_A_DISPLAY = """
import os, subprocess, sys, {imports}
show = "import sys; from perfield.output.images import display\\n"
show += "with display() as number: print(number, flush=True); sys.stdin.read()"
pipes = {{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}}
shown = subprocess.Popen([sys.executable, "-c", show], text=True, **pipes)  # until this process ends
os.environ["DISPLAY"] = shown.stdout.readline().strip() or sys.exit("no display")
"""
PARAVIEW = WarmPython(ON_A_DISPLAY.format(imports="paraview.simple"))
VTK = WarmPython(
    ON_A_DISPLAY.format(imports="numpy")
    + f"sys.path.insert(0, {str(SCRIPTS)!r})\nimport images, layout_filter, vtk_drawing"
)


def in_paraview(script: str, pictures: Path):
    """Runs a script in ParaView's Python, where `pv` is paraview.simple; returns its `result`."""
    return _run_in(PARAVIEW, "paraview.simple", script, pictures)


def in_vtk(script: str, pictures: Path):
    """Runs a script where `pv` is what draws images without ParaView; returns its `result`."""
    return _run_in(VTK, "vtk_drawing", script, pictures)


def _run_in(warm: WarmPython, pv: str, script: str, pictures: Path):
    changes = {**os.environ, "PYTHONPATH": str(SCRIPTS), "PERFIELD_PICTURES": str(pictures)}
    changes.pop("DISPLAY", None)
    text = f"""
import json, os, sys, {pv} as pv
sys.path[:0] = ["", {str(SCRIPTS)!r}]
os.environ.update({changes!r})
{script}
print("RESULT", json.dumps(result))
"""
    process = warm.start(text, ["-c"], None, pictures)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, out + err
    return json.loads(out.rpartition("RESULT")[2])
