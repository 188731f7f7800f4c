# SPDX-License-Identifier: BSD-3-Clause
"""Reads a mesh file in another process first: the libraries of CGNS and XDMF end it on damaged files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from perfield.child_python import run_code

LIMIT_S = 300  # for a large file
READY = "ready"
CHILD = """
import json, os, sys
sys.path[:] = [folder for folder in json.loads(sys.argv[1]) if folder]
try:
    from perfield.pictures.mesh_files import MeshFile
except ImportError:
    sys.exit(0)
os.environ["PERFIELD_TRIED"] = "1"
from pathlib import Path
from perfield.pictures.blocks import MeshMissingError
try:
    file = MeshFile(Path(sys.argv[2]))
    file.datasets(file.times[-1] if file.times else None)
except MeshMissingError as error:
    print(error)
    sys.exit(3)
"""


def tried_apart(path: Path) -> None:
    """Raises ValueError, with what the library says, if reading the file ends the process that does it.

    Where no other Python can be started that finds VTK, nothing is tried.
    """
    python = _python()
    if python is None or os.environ.get("PERFIELD_TRIED"):
        return
    command = run_code(python, CHILD, json.dumps(sys.path), str(path))
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"trying to read it failed: {type(error).__name__}") from None
    if done.returncode == 0:
        return
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    raise ValueError(said[-1] if said else "its library ended the process that read it")


def _python() -> str | None:
    """A Python to start; ParaView's own program names one that does not exist."""
    if Path(sys.executable or "").name.startswith("python") and Path(sys.executable).is_file():
        return sys.executable
    return shutil.which("python3")
