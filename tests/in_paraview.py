# SPDX-License-Identifier: BSD-3-Clause
"""Runs scripts in ParaView's Python, with the pipelines on its path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from perfield.output.images import SCRIPTS, display


def in_paraview(script: str, pictures: Path):
    """Runs a script in ParaView's Python with the pipelines on its path; returns its `result`."""
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
            command, env=environment, cwd=pictures, capture_output=True, text=True, check=False, timeout=600
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.rpartition("RESULT")[2])
