# SPDX-License-Identifier: BSD-3-Clause
"""Pictures inside programs of other kinds: Python, OpenFOAM, and programs without MPI."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
from compiled.c_programs import c_program, mpi_program
from drivers import extracts_of_run as extracts

import perfield

TESTCASE = Path(__file__).resolve().parents[2] / "testcase"


def perfields_words(result) -> list[str]:
    """perfield's lines on stderr, without its closing lines."""
    return [line for line in result.stderr.splitlines() if line.startswith("perfield: ")]


def test_python_program_shows_steps_in_its_own_interpreter(in_process):
    options = ("--steps", 2, "--length", 8, "--width", 6)
    result = in_process(
        sys.executable, TESTCASE / "python/heat.py", *options, env={"PERFIELD_FIELDS_EVERY": "1"}
    )
    assert result.returncode == 0, result.stderr
    assert not perfields_words(result)
    folder = result.cwd / "perfield-run"
    assert perfield.open(folder).state == "finished"
    assert (folder / "catalyst/geometry.pvd").exists()
    extracts.assert_as_afterwards(folder, range(2), later="send_")  # from the reduction at the end


@pytest.mark.skipif(not shutil.which("icoFoam"), reason="OpenFOAM (Debian: openfoam) is not installed")
def test_openfoam_solver_is_shown_on_its_mesh_from_disk(in_process, tmp_path):
    spec = importlib.util.spec_from_file_location("openfoam_cases", TESTCASE / "openfoam/cases.py")
    cases = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = cases
    spec.loader.exec_module(cases)
    try:
        cases.prepare(cases.CASES["icoFoam"], tmp_path, 2)
    except cases.OpenFoamMissingError as error:
        pytest.skip(str(error))
    cases.set_entry(tmp_path / "system/controlDict", "endTime", "0.06")  # 12 steps
    environment = {**cases.environment(), "DISPLAY": None}
    result = in_process("icoFoam", "-parallel", every=10, env=environment, cwd=tmp_path, timeout=300)
    assert result.returncode == 0, result.stderr
    assert not perfields_words(result)
    shown = sorted((tmp_path / "perfield-run/catalyst").glob("geometry_*.vtm"))
    assert [path.stem for path in shown] == ["geometry_000000", "geometry_000010"]
    pieces = extracts.pieces(tmp_path / "perfield-run", 10)
    assert [piece.GetNumberOfCells() for piece in pieces] == [200] * 2


def test_program_without_mpi_is_shown(in_process, build_c):
    text = c_program("""
      int64_t extent[6] = {0, 4, 0, 2, 0, 0};
      double origin[3] = {0, 0, 0}, spacing[3] = {1, 1, 1};
      perfield_mesh_image(0, extent, origin, spacing);
      perfield_initialize();
      perfield_step(1, 0.5);
      perfield_finalize();
    """)
    result = in_process(build_c(text, mpi=False), n=1)
    assert result.returncode == 0, result.stderr
    assert not perfields_words(result)
    (piece,) = extracts.pieces(result.cwd / "perfield-run", 0)
    assert piece.GetNumberOfPoints() == 15
    assert len(extracts.layers(result.cwd / "perfield-run", 0)) == 5  # without messages


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_mpich_program_with_open_mpi_mpi4py_is_reported(mpi, build_c, bin_dir, tmp_path):
    text = mpi_program("perfield_initialize(); perfield_step(1, 0.5);")
    environment = {"PERFIELD_CATALYST_IN_PROCESS": "true"}
    result = mpi.run(2, bin_dir / "perfield-exec", build_c(text, by=mpi), env=environment, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    (said,) = perfields_words(result)
    assert "the program uses MPICH" in said and "built for Open MPI" in said
    assert perfield.open(tmp_path / "perfield-run").state == "finished"
