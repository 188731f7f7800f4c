# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the measured side's tests: commands without a launcher, and small programs, run measured."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import perfield

# Of the launcher under which the tests themselves may run.
LAUNCHERS = ("PERFIELD_", "OMPI_", "PMIX_", "PMI_", "SLURM_", "HYDI_", "MPI_LOCAL", "HWLOC_")

PROLOGUE = """
#include "perfield.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef REAL_TIME
/* Works for so many milliseconds of wall time. */
static void work(double ms) {
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  do clock_gettime(CLOCK_MONOTONIC, &b);
  while ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6 < ms);
}
#else
/* A clock of the test's own, which perfield reads too: time passes in work() and nowhere else. */
static _Atomic long long clock_ns = 1000000000LL;
int clock_gettime(clockid_t id, struct timespec* t) {
  (void)id;
  t->tv_sec = clock_ns / 1000000000LL;
  t->tv_nsec = clock_ns % 1000000000LL;
  return 0;
}
static void work(double ms) { clock_ns += (long long)(ms * 1e6); }
#endif
#define REGION(name) perfield_region_define(name, __FILE__, __LINE__)
/* Prints what perfield tells this rank of itself: a field and its value, with all its digits, per line. */
static inline void print_values(void) {
  perfield_value v[300];
  int n = perfield_values(300, v);
  for (int i = 0; i < n; ++i) printf("%s %a\\n", v[i].name, v[i].value);
}
"""


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
    """execute(*argv, env={}, cwd=tmp_path, input=None, timeout=120): runs a command in that environment,
    input and output as text.
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
    """privately(script, env={}): runs a shell script that may mount what it likes, seen by itself only."""
    if shutil.which("unshare") is None or execute("unshare", "--mount", "true").returncode:
        pytest.skip("unshare --mount is not allowed here, so nothing can be mounted for this test")

    def run(script: str, env: dict[str, str] | None = None):
        return execute("unshare", "--mount", "sh", "-ec", script, env=env)

    return run


@pytest.fixture
def measured(build_c, bin_dir, mpirun, tmp_path):
    """measured(body, n=1, env={}): compiles `int main() { body }`, runs it under perfield-exec and
    returns (perfield.Run, finished process).

    Time passes only in work(ms), exactly so long, unless real_time is set or the body calls MPI.
    """

    def run(body: str, n=1, env=None, before="", flags=(), check=True, real_time=False, timeout=120):
        mpi = "MPI_" in body
        include = "#include <mpi.h>\n" if mpi else ""
        if mpi or real_time:
            include += "#define REAL_TIME\n"
        else:
            env = {"PERFIELD_CLOCK": "monotonic", **(env or {})}
        text = f"{include}{PROLOGUE}{before}\nint main(int argc, char** argv) {{\n(void)argc; (void)argv;\n"
        program = build_c(text + body + "\nreturn 0;\n}\n", "-rdynamic", *flags, mpi=mpi)
        result = mpirun(n, bin_dir / "perfield-exec", program, env=env, cwd=tmp_path, timeout=timeout)
        if check:
            assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / "perfield-run"), result

    run.prologue = PROLOGUE
    return run
