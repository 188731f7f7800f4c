# SPDX-License-Identifier: BSD-3-Clause
"""Shortening and dividing OpenFOAM's tutorials."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "testcase/openfoam/cases.py"


@pytest.fixture(scope="module")
def cases():
    """The module testcase/openfoam/cases.py."""
    spec = importlib.util.spec_from_file_location("openfoam_cases", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_set_entry_keeps_the_rest_of_the_file(cases, tmp_path):
    file = tmp_path / "controlDict"
    file.write_text("stopAt   endTime;\n\n    endTime   0.5;\ndeltaT 0.1;\n")
    cases.set_entry(file, "endTime", "0.2")
    assert file.read_text() == "stopAt   endTime;\n\n    endTime   0.2;\ndeltaT 0.1;\n"


def test_missing_entry_is_named(cases, tmp_path):
    (tmp_path / "controlDict").write_text("deltaT 0.1;\n")
    with pytest.raises(RuntimeError, match="controlDict has no entry endTime to set to 1"):
        cases.set_entry(tmp_path / "controlDict", "endTime", "1")


def test_missing_solver_is_named_with_its_package(cases, tmp_path):
    case = cases.Case("noSuchFoam", "nowhere", {})
    with pytest.raises(cases.OpenFoamMissingError, match="noSuchFoam was not found in PATH; install"):
        cases.prepare(case, tmp_path / "case")


@pytest.mark.skipif(not shutil.which("decomposePar"), reason="OpenFOAM (Debian: openfoam) is not installed")
def test_case_is_fresh_and_divided_among_four_ranks(cases, tmp_path):
    try:
        cases.tutorials()
    except cases.OpenFoamMissingError as error:
        pytest.skip(str(error))
    folder = tmp_path / "case"
    for _ in range(2):
        cases.prepare(cases.CASES["interFoam"], folder)
        assert sorted(path.name for path in folder.glob("processor*")) == [f"processor{n}" for n in range(4)]
        assert "nAlphaSubCycles 3;" in (folder / "system/fvSolution").read_text()
        (folder / "left-over").touch()
    cases.prepare(cases.CASES["interFoam"], folder)
    assert not (folder / "left-over").exists()
