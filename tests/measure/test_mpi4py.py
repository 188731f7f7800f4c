# SPDX-License-Identifier: BSD-3-Clause
"""The heat case in Python on both MPIs: messages, regions, mesh, field and pictures."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import perfield

REPOSITORY = Path(__file__).resolve().parents[2]
HEAT = REPOSITORY / "testcase/python/heat.py"
STEPS = 12


@pytest.fixture
def with_wheel(mpi, mpi4py_wheel) -> dict[str, str]:
    """Variables that make a Python program use PyPI's mpi4py with the current MPI."""
    return mpi4py_wheel[mpi.name]


@pytest.fixture
def heat(mpi, bin_dir, tmp_path, request):
    """heat(*options, wheel=True): runs the heat case on three ranks; returns the Run and the output."""

    def run(*options: str, wheel: bool = True):
        env = request.getfixturevalue("with_wheel") if wheel else {}
        program = [sys.executable, HEAT, "--steps", STEPS, "--length", 24, "--width", 16, *options]
        result = mpi.run(3, bin_dir / "perfield-exec", *program, env=env, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / "perfield-run"), result.stdout

    return run


@pytest.mark.parametrize("wheel", [False, True], ids=["Debian", "wheel"])
def test_python_heat_case_is_fully_measured(mpi, heat, wheel):
    if mpi.name == "mpich" and not wheel:
        pytest.skip("Debian's mpi4py is built for Open MPI")
    run, printed = heat(wheel=wheel)
    assert printed.startswith("mean temperature 0.")
    assert run.state == "finished" and len(run) == STEPS and run.n_ranks == 3
    assert all(end["faults"] == {} for end in run.ends.values())
    assert all(set(end["sources"]) == {"io", "memory", "python", "pmpi"} for end in run.ends.values())
    for frame in run.frames():
        assert frame.values["sendrecv_count"].tolist() == [1, 2, 1]
        assert frame.values["sendrecv_bytes"].tolist() == [128, 256, 128]
        assert frame.values["Plate_exchange_count"].tolist() == [1, 1, 1]
        assert np.isnan(frame.values["oven_count"][[0, 2]]).all() and frame.values["oven_count"][1] == 1
        pairs = {(int(row["source"]), int(row["target"])) for row in frame.messages}
        assert pairs == {(0, 1), (1, 0), (1, 2), (2, 1)}
    extents = [tuple(run.mesh(rank, 1)[0].extent) for rank in range(3)]
    assert extents == [(0, 8, 0, 15, 0, 0), (8, 16, 0, 15, 0, 0), (16, 23, 0, 15, 0, 0)]
    hottest = run.fields(1, 0)[0, "temperature"].values
    assert hottest.shape == (9 * 16,) and hottest.max() > 0.9


def test_python_heat_case_gives_both_pictures(mpi, heat):
    if mpi.name == "mpich":
        pytest.skip("the pictures do not depend on the MPI")
    pytest.importorskip("vtkmodules")
    from perfield import pictures

    run, _ = heat(wheel=False)
    frame = run.frame(STEPS - 1)
    mesh = pictures.geometry(run, frame)
    assert mesh.GetNumberOfPoints() == (9 + 9 + 8) * 16
    assert pictures.topology(run, frame).messages.GetNumberOfCells() == 4


def test_interpreter_exit_without_finalize_finishes_the_run(mpi, with_wheel, bin_dir, tmp_path):
    text = "from mpi4py import MPI\nimport perfield\n"
    text += "perfield.initialize()\nperfield.step(0)\nraise SystemExit(3)\n"
    program = tmp_path / "program.py"
    program.write_text(text)
    result = mpi.run(2, bin_dir / "perfield-exec", sys.executable, program, env=with_wheel, cwd=tmp_path)
    assert result.returncode == 3
    run = perfield.open(tmp_path / "perfield-run")
    # mpi4py calls MPI_Finalize when the interpreter ends.
    assert run.state == "finished" and {end["reason"] for end in run.ends.values()} == {"finalize"}
