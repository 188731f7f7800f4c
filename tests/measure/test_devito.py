# SPDX-License-Identifier: BSD-3-Clause
"""A real solver, Devito, measured with settings only, if this Python has it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import perfield

WAVE = Path(__file__).resolve().parents[2] / "testcase/python/devito/wave.py"
SETTINGS = {
    "DEVITO_MPI": "1",
    "DEVITO_LANGUAGE": "C",
    "OMP_NUM_THREADS": "1",
    "PERFIELD_REGIONS": "Operator.apply,Operator.arguments",
    "PERFIELD_STEP_REGION": "Operator.apply",
}


@pytest.mark.skipif(importlib.util.find_spec("devito") is None, reason="devito is not installed")
def test_unchanged_devito_solver_is_measured(mpirun, bin_dir, tmp_path):
    program = [sys.executable, WAVE, "--steps", 5, "--points", 60]
    result = mpirun(2, bin_dir / "perfield-exec", *program, env=SETTINGS, cwd=tmp_path, timeout=200)
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert run.state == "finished" and len(run) == 5
    for frame in run.frames():
        assert frame.values["Operator_apply_count"].tolist() == [1, 1]
        assert frame.values["Operator_arguments_count"].tolist() == [1, 1]
        assert (frame.values["isend_count"] > 0).all()
