# SPDX-License-Identifier: BSD-3-Clause
"""What perfield adds to a program's address space, and programs under limits of memory."""

from __future__ import annotations

import pytest
from compiled.c_programs import mpi_program
from conftest import WITH_ONE_MPI

from perfield.commands.run import no_ranks

# Prints the kB of private data of rank 0 (what RLIMIT_DATA counts).
PROGRAM = mpi_program("""
  double a = 1, sum;
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&a, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  while (rank == 0 && fgets(line, sizeof line, status)) {
    int kb;
    if (sscanf(line, "VmData: %d", &kb) == 1) { printf("data %d\\n", kb); fflush(stdout); }
  }
  fclose(status);
""")
MOST_KB = 8 * 1024


def data_kb(result) -> int:
    assert result.returncode == 0, result.stderr
    return int(result.stdout.split()[1])


@pytest.fixture
def program(build_c, mpi):
    return build_c(PROGRAM, by=mpi)


def test_rank_grows_by_little_address_space(program, mpi, bin_dir):
    bare = data_kb(mpi.run(2, program))
    assert data_kb(mpi.run(2, bin_dir / "perfield-exec", program)) - bare <= MOST_KB


def test_program_at_a_hard_limit_runs_as_without_perfield_and_the_limit_is_named(
    program, mpi, bin_dir, tmp_path
):
    limit = data_kb(mpi.run(2, program)) + 1000  # for runs that differ; perfield's libraries have no room
    words = ["sh", "-c", f'ulimit -d {limit}; exec "$@"', "sh"]
    assert mpi.run(2, *words, program).returncode == 0
    result = mpi.run(2, *words, bin_dir / "perfield-exec", program, cwd=tmp_path)
    assert data_kb(result) <= limit
    assert f"the hard limit of data (ulimit -Hd {limit}) leaves no room for perfield" in result.stderr


@WITH_ONE_MPI
def test_program_below_a_small_limit_that_a_script_sets_starts_again_without_perfield(
    program, mpi, bin_dir, tmp_path
):
    limit = data_kb(mpi.run(2, program)) + 1000
    words = ["sh", "-c", f"ulimit -d {limit}; exec $0", program]
    result = mpi.run(2, bin_dir / "perfield-exec", *words, cwd=tmp_path)
    assert data_kb(result) <= limit
    assert result.stderr.count(f"the hard limit of data (ulimit -Hd {limit}) leaves no room") == 1
    assert no_ranks(tmp_path / "perfield-run") == ""  # it has said why already


@WITH_ONE_MPI
@pytest.mark.parametrize("added", [1000, 6000])
def test_program_keeps_the_room_to_a_limit_that_perfield_sees_late(build_c, mpi, bin_dir, added, tmp_path):
    text = "static volatile char much[24 << 20];\n" + PROGRAM.replace("sum;", "sum; much[0] = 1;")
    program = build_c(text, by=mpi)
    limit = data_kb(mpi.run(2, program)) + added
    words = ["sh", "-c", f"ulimit -d {limit}; exec $0", program]
    result = mpi.run(2, bin_dir / "perfield-exec", *words, cwd=tmp_path)
    assert data_kb(result) <= limit - added + 1000  # the libraries alone
    assert f"MB away from its limit of data (ulimit -d {limit})" in result.stderr


@WITH_ONE_MPI
def test_large_hard_limit_hinders_no_measurement(program, mpi, bin_dir, tmp_path):
    words = ["sh", "-c", 'ulimit -v 1000000; ulimit -d 500000; exec "$@"', "sh"]
    result = mpi.run(2, *words, bin_dir / "perfield-exec", program, cwd=tmp_path)
    assert data_kb(result) and "ulimit" not in result.stderr and "perfield report" in result.stderr


@WITH_ONE_MPI
def test_program_just_below_a_soft_limit_is_measured(program, mpi, bin_dir, tmp_path):
    limit = data_kb(mpi.run(2, program)) + 500
    words = ["sh", "-c", f'ulimit -Sd {limit}; exec "$@"', "sh"]
    assert mpi.run(2, *words, program).returncode == 0
    result = mpi.run(2, *words, bin_dir / "perfield-exec", program, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "ulimit" not in result.stderr and "perfield report" in result.stderr
