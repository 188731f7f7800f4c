# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures for tests of the measured side: commands without a launcher, and small measured programs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from compiled.c_programs import PROLOGUE, between_init_and_finalize, c_program
from conftest import run_command

import perfield

# Variables of the launcher that may run the tests themselves.
LAUNCHERS = (
    "PERFIELD_",
    "OMPI_",
    "PMIX_",
    "PMI_",
    "SLURM_",
    "HYDI_",
    "MPI_LOCAL",
    "HWLOC_",
    "FLUX_",
    "PALS_",
    "PBS_",
    "LSB_",
    "JSM_",
    "I_MPI_",
    "HYDRA_",
)


@pytest.fixture(scope="session")
def plain_environment(bin_dir: Path) -> dict[str, str]:
    """The environment of a shell without variables of perfield or of a launcher."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    environment.pop("LD_PRELOAD", None)
    environment["PATH"] = f"{bin_dir}{os.pathsep}{environment['PATH']}"
    environment["LC_ALL"] = "C"
    return environment


@pytest.fixture
def execute(plain_environment: dict[str, str], tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """execute(*argv, env={}, cwd=tmp_path, input=None, timeout=120): runs a command in `plain_environment`.

    Input and output are text.
    """

    def run(
        *argv: object,
        env: dict[str, str] | None = None,
        cwd: Path = tmp_path,
        input: str | None = None,
        timeout: float = 120,
    ):
        return subprocess.run(
            [str(word) for word in argv],
            env={**plain_environment, **(env or {})},
            cwd=cwd,
            input=input,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run


@pytest.fixture
def privately(
    execute: Callable[..., subprocess.CompletedProcess],
) -> Callable[..., subprocess.CompletedProcess]:
    """privately(script, env={}): runs a shell script whose mounts no other process sees."""
    if shutil.which("unshare") is None or execute("unshare", "--mount", "true").returncode:
        pytest.skip("unshare --mount is not allowed here, so nothing can be mounted for this test")

    def run(script: str, env: dict[str, str] | None = None):
        return execute("unshare", "--mount", "sh", "-ec", script, env=env)

    return run


@pytest.fixture
def measured(build_c, bin_dir, mpirun, tmp_path):
    """measured(body, n=1, env={}): compiles `int main() { body }`, runs it under perfield-exec and
    returns (perfield.Run, finished process). One rank without MPI needs no launcher.

    mpi : the body runs between MPI_Init and MPI_Finalize and knows its `rank` and the `size` of the world.
    directory : the run directory that `env` names. Time passes only in work(ms) unless real_time is set or
    the body calls MPI.
    """

    def run(
        body: str,
        n=1,
        env=None,
        before="",
        flags=(),
        check=True,
        mpi=False,
        real_time=False,
        timeout=120,
        directory="perfield-run",
    ):
        if mpi:
            body = between_init_and_finalize(body)
        calls_mpi = "MPI_" in body
        own_clock = not calls_mpi and not real_time
        if own_clock:
            env = {"PERFIELD_CLOCK": "monotonic", **(env or {})}
        text = c_program(body, before, mpi=calls_mpi, own_clock=own_clock)
        program = build_c(text, "-rdynamic", *flags, mpi=calls_mpi)
        if calls_mpi or n > 1:
            result = mpirun(n, bin_dir / "perfield-exec", program, env=env, cwd=tmp_path, timeout=timeout)
        else:
            result = run_command([bin_dir / "perfield-exec", program], env, tmp_path, timeout)
        if check:
            assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / directory), result

    run.prologue = PROLOGUE
    return run
