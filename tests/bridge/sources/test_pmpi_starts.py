# SPDX-License-Identifier: BSD-3-Clause
"""Unusual starts and ends of MPI: sessions, no MPI_Init, two MPI_Finalize, MPI_Abort."""

from __future__ import annotations

import pytest

import perfield

SESSION = r"""
#include <mpi.h>
#include <stdio.h>
int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank, size, sum = 0, one = 1;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session)) return 2;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Sendrecv_replace(&one, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, comm,
                       MPI_STATUS_IGNORE);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (rank == 0) printf("sum %d\n", sum);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return 0;
}
"""


def test_session_program_runs_unmeasured_with_one_message(mpi, build_c, bin_dir):
    if mpi.name == "openmpi":
        pytest.skip("Open MPI has sessions from 5.0 on")
    result = mpi.run(3, bin_dir / "perfield-exec", build_c(SESSION, by=mpi))
    assert (result.returncode, result.stdout) == (0, "sum 3\n"), result.stderr
    printed = [line for line in result.stderr.splitlines() if line.startswith("perfield: ")]
    assert printed == [
        "perfield: this program starts MPI with a session (MPI_Session_init); perfield measures MPI calls "
        "only after MPI_Init"
    ]


def test_program_without_mpi_init_runs_unchanged(mpi, build_c, bin_dir):
    source = r"""
    #include <mpi.h>
    #include <stdio.h>
    int main(int argc, char** argv) {
      int begun = 1, version, part, length;
      char name[MPI_MAX_LIBRARY_VERSION_STRING];
      MPI_Initialized(&begun);
      MPI_Get_version(&version, &part);
      MPI_Get_library_version(name, &length);
      printf("%d %d\n", begun, version >= 3);
      if (argc > 2) MPI_Init(&argc, &argv);
      return 5;
    }
    """
    program = build_c(source, by=mpi)
    bare = mpi.run(1, program)
    result = mpi.run(1, bin_dir / "perfield-exec", program)
    assert (result.returncode, result.stdout) == (bare.returncode, bare.stdout) == (5, "0 1\n")
    assert "perfield: " not in result.stderr


def test_steps_are_measured_without_mpi_init(mpi, build_c, bin_dir):
    source = """
    #include <mpi.h>
    #include "perfield.h"
    int main(int argc, char** argv) {
      if (argc > 9) MPI_Init(&argc, &argv);
      perfield_initialize();
      for (int step = 0; step < 3; ++step) {
        perfield_begin("solve");
        perfield_end("solve");
        perfield_step(step, step);
      }
      return 0;
    }
    """
    result = mpi.run(2, bin_dir / "perfield-exec", build_c(source, by=mpi))
    assert result.returncode == 0, result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert [frame.values["solve_count"].tolist() for frame in run.frames()] == [[1, 1]] * 3
    assert "perfield: " not in result.stderr


def test_second_finalize_fails_and_keeps_the_run(mpi, build_c, bin_dir, programs, counted_in):
    program = build_c(programs / "exchange.c", by=mpi)
    bare = mpi.run(1, program, "twice")
    result = mpi.run(1, bin_dir / "perfield-exec", program, "twice")
    assert (result.returncode, result.stdout) == (bare.returncode, bare.stdout)
    assert result.returncode != 0
    counted = counted_in(result.cwd / "perfield-run")
    assert counted.ends[0]["reason"] == "finalize"
    assert counted.calls[0, "allreduce"] == 5


def test_abort_is_recorded_in_the_stream(mpi, build_c, bin_dir, counted_in):
    source = """
    #include <mpi.h>
    int main(int argc, char** argv) {
      MPI_Init(&argc, &argv);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Abort(MPI_COMM_WORLD, 7);
    }
    """
    result = mpi.run(1, bin_dir / "perfield-exec", build_c(source, by=mpi))
    assert result.returncode == 7
    counted = counted_in(result.cwd / "perfield-run")
    assert counted.ends[0]["reason"] == "abort"
    assert counted.calls[0, "barrier"] == 1
