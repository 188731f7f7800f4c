# SPDX-License-Identifier: BSD-3-Clause
"""`pip install .` in an empty virtual environment: what works without VTK, and with VTK from pip."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import clean_environment

from twins import twin

pytestmark = pytest.mark.long
REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """plain(*words): runs a command of a virtual environment without the system's packages."""
    folder = tmp_path_factory.mktemp("plain")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)

    def run(name: str, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [folder / "venv/bin" / name, *map(str, words)],
            env=clean_environment(),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )

    build = f"--config-settings=build-dir={folder}/build"
    installed = run("pip", "install", "--quiet", build, REPOSITORY)
    if "No matching distribution" in installed.stderr:
        pytest.skip("pip reaches no package index here")
    assert installed.returncode == 0, installed.stderr
    return run


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory) -> Path:
    """A made-up run with a mesh."""
    return twin.write_run(tmp_path_factory.mktemp("run") / "run", ranks=2, steps=3, mesh=True)


def test_reports_work_with_the_core_alone_and_pictures_ask_for_vtk(plain, run_directory, tmp_path):
    said = plain("perfield", "info", run_directory)
    assert said.returncode == 0 and "steps      3 on 2 ranks" in said.stdout, said.stderr
    found = plain("perfield", "report", run_directory, "--text")
    assert found.returncode == 0 and "Findings" in found.stdout, found.stderr
    assert "xarray" not in plain("pip", "list").stdout, "the core brings no package of an extra"
    drawn = plain("perfield", "render", run_directory, "-o", tmp_path / "pictures")
    assert drawn.returncode == 2
    assert "perfield render: this needs VTK's Python modules, which are not installed here" in drawn.stderr
    assert "pip install 'perfield[vtk]'" in drawn.stderr


def test_vtk_from_pip_writes_pictures_and_draws_images(plain, run_directory, tmp_path):
    installed = plain("pip", "install", "--quiet", "vtk>=9.2", "scipy>=1.10")
    if "No matching distribution" in installed.stderr:
        pytest.skip("pip reaches no package index here")
    pictures = tmp_path / "pictures"
    drawn = plain("perfield", "render", run_directory, "-o", pictures, "--images")
    assert (pictures / "geometry.pvd").exists() and (pictures / "topology.pvd").exists()
    assert drawn.returncode == 0, drawn.stderr
    for picture in ("geometry", "topology"):
        assert list((pictures / "images").glob(f"*_{picture}_*.png")), drawn.stdout
