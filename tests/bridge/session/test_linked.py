# SPDX-License-Identifier: BSD-3-Clause
"""Programs linked with -lperfield, started in all possible ways."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from compiled.c_programs import c_program, mpi_program
from conftest import clean_environment

import perfield

SERIAL = c_program("""
  perfield_initialize();
  for (int s = 0; s < 3; ++s) { perfield_begin("work"); perfield_end("work"); perfield_step(s, s); }
  perfield_finalize();
  puts("the answer is 42");
""")
PARALLEL = mpi_program(
    """
  perfield_initialize();
  for (int s = 0; s < 4; ++s) {
    int out = s, in;
    perfield_begin("work"); perfield_end("work");
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    perfield_step(s, s);
  }
  perfield_finalize();
""",
    after='if (rank == 0) puts("the answer is 42");',
)


@pytest.fixture
def linked(build_c, perfield_flags):
    """linked(source, mpi): compiles a program with the flags of `perfield setup paths --libs`."""
    return lambda source, mpi: build_c(source, *perfield_flags("--libs"), mpi=mpi)


@pytest.fixture
def execute_here(tmp_path):
    """execute_here(program, env={}, printed=""): runs a program in a new folder; returns the folder."""

    def run(program, env=None, printed=None):
        folder = tmp_path / "here"
        folder.mkdir()
        result = subprocess.run(
            [program],
            env=clean_environment(env),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
        if printed is not None:
            assert result.stderr.count("perfield: ") == 1 and printed in result.stderr
        return folder

    return run


def counts(run) -> list[list[float]]:
    """The number of times each rank entered `work`, by frame."""
    return [frame.values["work_count"].tolist() for frame in run.frames()]


def test_serial_program_claims_a_directory_as_rank_0_of_1(linked, execute_here):
    folder = execute_here(linked(SERIAL, False))
    run = perfield.open(folder / "perfield-run")
    assert counts(run) == [[1]] * 3
    assert (run.n_ranks, run.state) == (1, "finished")
    assert list((folder / "perfield-run/machine").iterdir())


def test_ranks_under_mpirun_form_one_run_without_mpi_calls(linked, mpirun):
    result = mpirun(3, linked(PARALLEL, True))
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert [path.name for path in result.cwd.iterdir()] == ["perfield-run"]
    assert counts(run) == [[1, 1, 1]] * 4
    assert [rank["rank"] for rank in run.rank_entries] == [0, 1, 2]
    assert all(
        np.isnan(run.frame(0).values[name]).all() for name in ("sent_count", "mpi_time_s", "compute_time_s")
    )
    assert "MPI was not seen; start the program with perfield-exec" in result.stderr
    assert result.stderr.count("perfield report") == 1


def test_perfield_exec_measures_once_with_messages(linked, mpirun, bin_dir):
    result = mpirun(3, bin_dir / "perfield-exec", linked(PARALLEL, True))
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert [path.name for path in result.cwd.iterdir()] == ["perfield-run"]
    assert counts(run) == [[1, 1, 1]] * 4
    assert all((frame.values["sendrecv_count"] == 1).all() for frame in run.frames())
    assert not run.damage
    assert result.stderr.count("perfield report") == 1


def test_disabled_program_writes_no_files(linked, execute_here):
    folder = execute_here(linked(SERIAL, False), env={"PERFIELD_ENABLED": "false"})
    assert list(folder.iterdir()) == []


def test_unwritable_place_warns_and_the_program_runs(linked, execute_here):
    env = {"PERFIELD_RUN_DIRECTORY": "/proc/nowhere/run"}
    folder = execute_here(
        linked(SERIAL, False), env=env, printed="cannot make the run directory /proc/nowhere/run"
    )
    assert list(folder.iterdir()) == []


def test_first_mesh_or_step_call_starts_measuring(linked, execute_here):
    folder = execute_here(
        linked(
            """
            #include "perfield.h"
            #include <stdio.h>
            int main(void) {
              int64_t e[6] = {0, 4, 0, 3, 0, 2}; double o[3] = {0}, d[3] = {1, 1, 1};
              perfield_mesh_image(0, e, o, d);
              for (int s = 0; s < 3; ++s) perfield_step(s, s);
              puts("the answer is 42");
              return 0;
            }
            """,
            False,
        )
    )
    run = perfield.open(folder / "perfield-run")
    assert [frame.label for frame in run.frames()] == [1, 2]  # the first call ends setup
    assert run.mesh(0, 1)[0].extent == (0, 4, 0, 3, 0, 2)
