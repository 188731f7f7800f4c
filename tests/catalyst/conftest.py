# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures for tests of pictures inside the program: two ranks, Open MPI, Debian's ParaView."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
from compiled.c_programs import mpi_program


@pytest.fixture(autouse=True, scope="session")
def _with_paraview() -> None:
    for name in ("paraview", "mpi4py"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"Python's {name} is not installed, which pictures inside programs need")


@pytest.fixture(scope="session")
def in_process(mpirun, bin_dir) -> Callable[..., object]:
    """in_process(*argv, n=2, cwd=None, timeout=120, env={}, ranks=1, **keys): runs a program with pictures
    inside it.

    ranks : load ParaView; 0: all do, which takes longer. keys : other keys of the table [catalyst]. Returns
    the finished process; the run is in its `cwd`.
    """

    def run(
        *argv: object,
        n: int = 2,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        timeout: float = 120,
        ranks: int = 1,
        **keys: object,
    ):
        settings = {
            "CATALYST_IN_PROCESS": "true",
            **{f"CATALYST_{key.upper()}": value for key, value in {"ranks": ranks, **keys}.items()},
        }
        changes = {f"PERFIELD_{key}": str(value) for key, value in settings.items()}
        environment = {"DISPLAY": None, **changes, **(env or {})}
        return mpirun(n, bin_dir / "perfield-exec", *argv, env=environment, cwd=cwd, timeout=timeout)

    return run


@pytest.fixture(scope="session")
def program(build_c) -> Callable[..., Path]:
    """program(body="", setup="", before="", *flags): compiles an MPI program of three steps on two ranks.

    body : C code at the start of each step; it may use rank, step and argv. setup : C code before
    perfield_initialize. before : C code before main.
    """

    def build(body: str = "", setup: str = "", before: str = "", *flags: str) -> Path:
        return build_c(program_of(body, setup, before), "-D_GNU_SOURCE", *flags)

    return build


@pytest.fixture
def program_text() -> str:
    """The C text of that program with an empty body."""
    return program_of()


def program_of(body: str = "", setup: str = "", before: str = "") -> str:
    """The C text of a program with these parts."""
    before = f"#include <string.h>\n{before}"
    return mpi_program(STEPS % {"body": body, "setup": setup}, before)


STEPS = """
  perfield_region solve = perfield_region_define("solve", __FILE__, __LINE__);
  int64_t extent[6] = {4 * rank, 4 * rank + 4, 0, 2, 0, 0};
  double origin[3] = {0, 0, 0}, spacing[3] = {1, 1, 1}, heat[15];
  perfield_mesh_image(0, extent, origin, spacing);
  perfield_field(0, "heat", PERFIELD_POINTS, perfield_array_of(heat, PERFIELD_FLOAT64, 1, 15));
  %(setup)s
  perfield_initialize();
  for (int step = 1; step <= (argc > 1 ? atoi(argv[1]) : 3); ++step) {
    for (int i = 0; i < 15; ++i) heat[i] = 100 * step + rank;
    perfield_region_begin(solve);
    MPI_Barrier(MPI_COMM_WORLD);
    perfield_region_end(solve);
    %(body)s
    perfield_step(step, 0.5 * step);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("the program is through");
"""
