# SPDX-License-Identifier: BSD-3-Clause
"""The wheel of `make build` brings what measuring and reading need, in an environment with nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = """
#include <mpi.h>
int main(int argc, char** argv) {
  double sum = 0, one = 1;
  MPI_Init(&argc, &argv);
  for (int step = 0; step < 50; ++step) {
    for (volatile long i = 0; i < 100000; ++i) continue;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def bin_of_wheel(tmp_path_factory) -> Path:
    """The folder of commands of a fresh environment with the wheel and what it requires."""
    wheels = list(REPOSITORY.glob("build/wheel/perfield-*.whl"))
    if not wheels:
        pytest.skip("build/wheel holds no wheel; `make build` makes it")
    venv = tmp_path_factory.mktemp("alone") / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin/pip", "install", "--quiet", *wheels], check=True, stderr=subprocess.PIPE)
    return venv / "bin"


def lines_of(*command, **options) -> list[str]:
    """What a command prints; it must succeed."""
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_wheel_brings_numpy_and_pyelftools_alone(bin_of_wheel):
    named = {line.split("==")[0] for line in lines_of(bin_of_wheel / "pip", "freeze", "--quiet")}
    assert {name.split(" ")[0] for name in named} == {"numpy", "perfield", "pyelftools"}


def test_wheel_measures_and_reports_a_program(bin_of_wheel, build_c, tmp_path):
    program = build_c(PROGRAM)
    path = f"{bin_of_wheel}:{os.environ['PATH']}"
    run = [bin_of_wheel / "perfield", "run", "--oversubscribe", "-n", "2", "--", program]
    lines_of(*run, cwd=tmp_path, env={**os.environ, "PATH": path})
    report = lines_of(bin_of_wheel / "perfield", "report", "--text", cwd=tmp_path)
    assert any("2 ranks" in line for line in report), report
