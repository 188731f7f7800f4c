# SPDX-License-Identifier: BSD-3-Clause
"""Cartesian communicators of real programs, as the run says them: what MPI itself says of each rank."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import perfield

N = 4  # ranks
PROGRAMS = Path(__file__).resolve().parent / "programs"
QUIET = {"PERFIELD_SUMMARY": "false", "PERFIELD_IO": "false"}
IN_PYTHON = """
from mpi4py import MPI
grid = MPI.COMM_WORLD.Create_cart([2, 2], periods=[True, False], reorder=True)
line = " ".join(map(str, [MPI.COMM_WORLD.rank, *grid.coords]))
print(line + "\\n", end="", flush=True)
"""


def printed_places(output: str) -> dict[int, list[int]]:
    """World rank -> coordinates."""
    rows = (list(map(int, line.split())) for line in output.splitlines())
    return {row[0]: row[1:] for row in rows}


def places_of(grid) -> dict[int, list[int]]:
    """The same of a run's grid."""
    return dict(zip(grid.members.tolist(), grid.coordinates.tolist()))


def test_grids_have_the_places_that_mpi_gave_their_ranks(mpi, build_c, bin_dir):
    result = mpi.run(N, bin_dir / "perfield-exec", build_c(PROGRAMS / "grids.c", by=mpi), env=QUIET)
    assert (result.returncode, result.stderr) == (0, "")
    run = perfield.open(result.cwd / "perfield-run")
    first, second = (one for one in run.grids if one.size == N)
    assert (first.dims, first.periodic, first.used) == ((2, 1, 2), (False, False, True), False)
    assert places_of(first) == printed_places(result.stdout)
    assert second.dims == (2, 1, 2) and second.members.tolist() == [0, 1, 2, 3]
    (part,) = (one for one in run.grids if one.label == "three in a row")
    assert (part.dims, part.members.tolist()) == ((3,), [0, 1, 2])
    others = [one.dims for one in run.grids if one.name not in (first.name, second.name, part.name)]
    assert sorted(others) == [(2,), (2,), (3,)]  # made of these, and used
    used = [one.label for one in run.communicators if one.dims]
    assert used.count("three in a row") == 1 and len(used) == 4


@pytest.mark.parametrize("binding", ["-DMPIFH", "-DUSE_MPI", "-DUSE_F08"])
def test_grids_of_fortran_have_the_places_that_mpi_gave_their_ranks(mpi, build_fortran, binding, bin_dir):
    program = build_fortran("fortran_grid.f90", mpi, binding)
    result = mpi.run(N, bin_dir / "perfield-exec", program, env=QUIET)
    assert (result.returncode, result.stderr) == (0, "")
    (grid,) = perfield.open(result.cwd / "perfield-run").grids
    assert (grid.dims, grid.periodic) == ((2, 2), (True, False))
    assert places_of(grid) == printed_places(result.stdout)


def test_grids_of_python_have_the_places_that_mpi_gave_their_ranks(mpirun, bin_dir):
    result = mpirun(N, bin_dir / "perfield-exec", sys.executable, "-c", IN_PYTHON, env=QUIET)
    assert result.returncode == 0, result.stderr
    (grid,) = perfield.open(result.cwd / "perfield-run").grids
    assert (grid.dims, grid.periodic) == ((2, 2), (True, False))
    assert places_of(grid) == printed_places(result.stdout)
