# SPDX-License-Identifier: BSD-3-Clause
"""Files in the current directory are no modules of the Pythons that perfield starts."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from perfield.child_python import run_code, run_module
from twins import twin

NAMES = [
    "collections",
    "contextlib",
    "ctypes",
    "dataclasses",
    "enum",
    "functools",
    "importlib",
    "json",
    "math",
    "numpy",
    "operator",
    "paraview",
    "pathlib",
    "perfield",
    "random",
    "re",
    "runpy",
    "shutil",
    "site",
    "sitecustomize",
    "struct",
    "subprocess",
    "tempfile",
    "types",
    "typing",
    "usercustomize",
    "vtk",
    "vtkmodules",
]
needs_paraview = pytest.mark.skipif(
    importlib.util.find_spec("paraview") is None, reason="ParaView's Python modules are not installed"
)


@pytest.fixture
def planted(tmp_path) -> Path:
    """A folder with modules that leave a mark where they are imported, and end the process."""
    folder = tmp_path / "planted"
    folder.mkdir()
    mark = folder / "marks"
    mark.mkdir()
    for name in NAMES:
        text = f"import os\nos.close(os.open({str(mark / name)!r}, os.O_CREAT))\nos._exit(77)\n"
        (folder / f"{name}.py").write_text(text)
    return folder


def marks(planted: Path) -> list[str]:
    """Names of the modules that were imported."""
    return sorted(path.name for path in (planted / "marks").iterdir())


def test_planted_modules_are_found_by_a_plain_python(planted):
    """So that the other tests can fail."""
    assert subprocess.run([sys.executable, "-c", "import json"], cwd=planted, check=False).returncode == 77
    assert marks(planted) == ["json"]


@pytest.mark.parametrize(
    "words",
    [
        run_code(sys.executable, "import json, sys, numpy; print(json.dumps(sys.argv[1:]))", "a", "b c"),
        run_module(sys.executable, "json.tool", "--compact", "given.json"),
    ],
    ids=["code", "module"],
)
def test_child_imports_nothing_from_the_current_directory(planted, words):
    (planted / "given.json").write_text('["a", "b c"]')
    done = subprocess.run(words, cwd=planted, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.replace(" ", "").strip()) == (0, '["a","bc"]'), done.stderr
    assert marks(planted) == []


@needs_paraview
def test_follow_imports_nothing_from_the_current_directory(planted, perfield_cli):
    twin.write_run(planted / "run", ranks=2, steps=1)
    result = perfield_cli("follow", "run", cwd=planted, env={"DISPLAY": None})
    assert (marks(planted), result.returncode) == ([], 0), result.stderr
    assert "shown 1 of 1 frames" in result.stderr


def test_trying_a_mesh_apart_imports_nothing_from_the_current_directory(planted):
    (planted / "mesh.cgns").write_text("no mesh")
    code = f"""
import os, pathlib, sys
from perfield.pictures.tried_apart import tried_apart
os.chdir({str(planted)!r})
sys.path.insert(0, "")  # as in ParaView's own shell
tried_apart(pathlib.Path("mesh.cgns"))
"""
    subprocess.run([sys.executable, "-c", code], cwd=planted.parent, check=False, capture_output=True)
    assert marks(planted) == []


def test_looking_for_perfield_in_a_python_imports_nothing_from_the_current_directory(planted, perfield_cli):
    (planted / "solver").mkdir()
    (planted / "solver/solver.py").write_text("import perfield\n")
    words = ["run", "--launcher", "", "--", "/usr/bin/python3", "solver/solver.py"]
    result = perfield_cli(*words, cwd=planted)
    assert marks(planted) == []
    assert "/usr/bin/python3 has no perfield, so the program cannot import it" in result.stderr


def test_doctor_imports_nothing_from_the_current_directory(planted, perfield_cli):
    result = perfield_cli("doctor", cwd=planted)
    assert marks(planted) == [] and "Open MPI" in result.stdout, result.stdout
