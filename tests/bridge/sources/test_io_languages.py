# SPDX-License-Identifier: BSD-3-Clause
"""File I/O in languages other than C, and by MPI: each byte is counted once."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

import perfield

CPP = """
#include <fstream>
#include <iostream>
#include <string>
#include <vector>
#include "perfield.h"
int main() {
  perfield_initialize();
  std::vector<char> block(100000, 'x');
  {
    std::ofstream out("block", std::ios::binary);
    out.write(block.data(), 100000);
  }
  perfield_step(0, 0.0);
  {
    std::ofstream out("lines");
    for (int i = 0; i < 1000; ++i) out << "line " << 1000 + i << '\\n';
  }
  perfield_step(1, 1.0);
  {
    std::ifstream in("lines");
    int n = 0;
    for (std::string line; std::getline(in, line);) ++n;
    if (n != 1000) return 1;
  }
  perfield_step(2, 2.0);
  std::cout << "to the screen" << std::endl;
  perfield_step(3, 3.0);
}
"""

FORTRAN = """
program io
  use perfield
  implicit none
  real(kind(1d0)) :: values(1000) = 1d0, back(1000)
  integer :: unit, i, number
  call perfield_initialize()
  open(newunit=unit, file='stream', access='stream', form='unformatted')
  write(unit) values
  close(unit)
  call perfield_step(0, 0d0)
  open(newunit=unit, file='lines')
  do i = 1, 1000
    write(unit, '(i8)') i
  end do
  close(unit)
  call perfield_step(1, 1d0)
  open(newunit=unit, file='lines')
  do i = 1, 1000
    read(unit, *) number
    if (number /= i) stop 1
  end do
  close(unit)
  call perfield_step(2, 2d0)
  open(newunit=unit, file='stream', access='stream', form='unformatted')
  read(unit) back
  if (any(back /= values)) stop 2
  close(unit)
  call perfield_step(3, 3d0)
  write(*, '(a)') 'to the screen'
  flush(6)
  call perfield_step(4, 4d0)
end program
"""

PYTHON = """
import os, subprocess, sys
import numpy as np
import perfield
perfield.initialize()
with open("text", "w") as file:
    file.writelines(f"line {1000 + i}\\n" for i in range(1000))
perfield.step(0)
np.ones(1000).tofile("array")
perfield.step(1)
assert np.fromfile("array").sum() == 1000
perfield.step(2)
with open("text") as file:
    assert len(file.read()) == 10000
perfield.step(3)
done = subprocess.run([sys.executable, "-c", "open('child', 'w').write('x' * 5000)"], check=True)
perfield.step(4)
print("to the screen", flush=True)
perfield.step(5)
"""


def moved(run) -> list[tuple[int, int]]:
    """Bytes read and written, in each step."""
    names = ("io_read_bytes", "io_write_bytes")
    return [tuple(int(frame.values[name][0]) for name in names) for frame in run.frames()]


def test_cpp_streams_are_counted(build_c, mpirun, bin_dir):
    program = build_c(CPP, "-ldl", name="streams.cpp", mpi=False)
    result = mpirun(1, bin_dir / "perfield-exec", program)
    assert (result.returncode, result.stdout) == (0, "to the screen\n")
    run = perfield.open(result.cwd / "perfield-run")
    assert moved(run) == [(0, 100_000), (0, 10_000), (10_000, 0), (0, 14)]
    assert all(frame.values["io_time_s"][0] > 0 for frame in run.frames())


def test_fortran_statements_are_counted(mpirun, bin_dir, perfield_flags, tmp_path):
    source = tmp_path / "io.f90"
    source.write_text(FORTRAN)
    module = perfield_flags("--fortran")
    subprocess.run(["gfortran", "-O1", *module, source, "-o", "io"], cwd=tmp_path, check=True)
    result = mpirun(1, bin_dir / "perfield-exec", tmp_path / "io")
    assert (result.returncode, result.stdout) == (0, "to the screen\n")
    run = perfield.open(result.cwd / "perfield-run")
    assert moved(run) == [(0, 8000), (0, 9000), (9000, 0), (8000, 0), (0, 14)]


def test_python_files_are_counted_but_not_child_programs(mpirun, bin_dir, tmp_path):
    (tmp_path / "io.py").write_text(PYTHON)
    result = mpirun(1, bin_dir / "perfield-exec", sys.executable, "io.py", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "to the screen\n"), result.stderr
    steps = moved(perfield.open(tmp_path / "perfield-run"))
    # In the end of the child, what subprocess reads is a pipe.
    assert steps == [(0, 10_000), (0, 8000), (8000, 0), (10_000, 0), (0, 0), (0, 14)]


PARALLEL = """
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
#include <fcntl.h>
#include "perfield.h"
int main(int argc, char** argv) {
  static double data[100000];
  int rank; MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  perfield_initialize();
  MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, rank * sizeof data, data, 100000, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  perfield_step(0, 0.0);
  MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Request request;
  MPI_File_iread_at(file, rank * sizeof data, data, 100000, MPI_DOUBLE, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  perfield_step(1, 1.0);
  char name[16]; snprintf(name, sizeof name, "own-%d", rank);
  int own = open(name, O_WRONLY | O_CREAT, 0600);
  for (int i = 0; i < 10; ++i) {
    if (write(own, data, 100 * (rank + 1)) < 0) return 1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(data, 100000, MPI_DOUBLE, i % 2, MPI_COMM_WORLD); /* by files of shared memory, if by any */
  }
  perfield_step(2, 2.0);
  MPI_Finalize();
  return 0;
}
"""


def test_io_inside_mpi_calls_is_not_counted_again(mpi, build_c, bin_dir, counted_in):
    program = build_c(PARALLEL, by=mpi)
    result = mpi.run(2, bin_dir / "perfield-exec", program)
    assert result.returncode == 0, result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    wrote, read, own = (frame.values for frame in run.frames())
    assert wrote["io_write_bytes"].tolist() == [800_000, 800_000]
    assert wrote["io_write_count"].tolist() == [1, 1]
    assert read["io_read_bytes"].tolist() == [800_000, 800_000]
    assert own["io_write_bytes"].tolist() == [1000, 2000]
    assert own["io_write_count"].tolist() == [10, 10]
    counted = counted_in(result.cwd / "perfield-run")
    for rank in range(2):
        assert counted.calls[rank, "own_write"] == 10
        assert counted.calls[rank, "own_read"] == 0
        assert wrote["io_time_s"][rank] == wrote["mpi_io_time_s"][rank] > 0  # MPI's, and no one else's
        of_step = own["step_time_s"][rank] - own["mpi_time_s"][rank] - own["io_time_s"][rank]
        computed = own["compute_time_s"][rank] + own["delayed_compute_time_s"][rank]
        assert computed == pytest.approx(of_step)


def test_printing_and_reading_work_as_without_perfield(bin_dir, mpirun, tmp_path):
    if not shutil.which("awk"):
        pytest.skip("awk is not installed")
    text = "".join(f"{i} {i * i}\n" for i in range(20_000))
    (tmp_path / "input").write_text(text)
    command = ["awk", '{ s += $2; print $1, s; if (NR % 1000 == 0) print s > "/dev/stderr" }', "input"]
    bare = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    measured = mpirun(1, bin_dir / "perfield-exec", *command, cwd=tmp_path)
    assert (measured.stdout, measured.stderr) == (bare.stdout, bare.stderr)
