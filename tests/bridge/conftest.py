# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the tests that start perfield-exec by itself, without a launcher."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

# Of the launcher under which the tests themselves may run.
LAUNCHERS = ("PERFIELD_", "OMPI_", "PMIX_", "PMI_", "SLURM_", "HYDI_", "MPI_LOCAL", "HWLOC_")


@pytest.fixture(scope="session")
def plain_environment(bin_dir: Path) -> dict[str, str]:
    """The environment of a shell in which nothing speaks of perfield or of a launcher."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    environment.pop("LD_PRELOAD", None)
    environment["PATH"] = f"{bin_dir}{os.pathsep}{environment['PATH']}"
    environment["LC_ALL"] = "C"
    return environment


@pytest.fixture
def execute(plain_environment: dict[str, str], tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """execute(*argv, env={}, cwd=tmp_path): runs a command in that environment, output as text."""

    def run(*argv: object, env: dict[str, str] | None = None, cwd: Path = tmp_path):
        return subprocess.run(
            [str(word) for word in argv],
            env={**plain_environment, **(env or {})},
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def privately(
    execute: Callable[..., subprocess.CompletedProcess],
) -> Callable[..., subprocess.CompletedProcess]:
    """privately(script, env={}): runs a shell script that may mount what it likes, seen by itself only."""
    if shutil.which("unshare") is None or execute("unshare", "--mount", "true").returncode:
        pytest.skip("unshare --mount is not allowed here, so nothing can be mounted for this test")

    def run(script: str, env: dict[str, str] | None = None):
        return execute("unshare", "--mount", "sh", "-ec", script, env=env)

    return run
