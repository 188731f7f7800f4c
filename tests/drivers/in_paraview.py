# SPDX-License-Identifier: BSD-3-Clause
"""Runs scripts in forks of one ParaView's Python, with the pipelines on its path."""

from __future__ import annotations

import json
import os
from pathlib import Path

from drivers.warm_python import WarmPython
from perfield.output.images import SCRIPTS

WARM = WarmPython("""
import os, subprocess, sys, paraview.simple
show = "import sys; from perfield.output.images import display\\n"
show += "with display() as number: print(number, flush=True); sys.stdin.read()"
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
shown = subprocess.Popen([sys.executable, "-c", show], text=True, **pipes)  # until this process ends
os.environ["DISPLAY"] = shown.stdout.readline().strip() or sys.exit("no display")
""")


def in_paraview(script: str, pictures: Path):
    """Runs a script in ParaView's Python with the pipelines on its path; returns its `result`."""
    changes = {**os.environ, "PYTHONPATH": str(SCRIPTS), "PERFIELD_PICTURES": str(pictures)}
    changes.pop("DISPLAY", None)
    text = f"""
import json, os, sys, paraview.simple as pv
sys.path[:0] = ["", {str(SCRIPTS)!r}]
os.environ.update({changes!r})
{script}
print("RESULT", json.dumps(result))
"""
    process = WARM.start(text, ["-c"], None, pictures)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, out + err
    return json.loads(out.rpartition("RESULT")[2])
