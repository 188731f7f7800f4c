# SPDX-License-Identifier: BSD-3-Clause
"""The original plug-in's interface, in C, C++ and Fortran programs instrumented for it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import perfield

VTK = Path("/usr/include/paraview-5.11")

# A simulation with the four calls and one message per rank and step.
SIMULATION = """
#include <mpi.h>
#include <simulation_interface.h>
static void smooth(int sweeps) {
  perfield_begin("smooth");
  for (volatile int i = 0; i < 1000 * sweeps; ++i) {
  }
  perfield_end("smooth");
}
#ifdef ADAPTOR
ADAPTOR
#else
static void coprocess(int rank, int step) { (void)rank; (void)step; }
#endif
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  char out[64] = {0}, in[64];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win window;
  MPI_Win_create(out, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  cat_sco_initialize_();
  for (int step = 0; step < 3; step++) {
    double time = 0.25 * step;
    smooth(1);
    for (int n = 0; n < argc + 1; n++) { /* one place, also for a compiler that unrolls loops */
      cat_sco_pipeline_next_();
      smooth(2);
    }
    MPI_Sendrecv(out, 10 + step, MPI_CHAR, (rank + 1) % size, 0, in, 64, MPI_CHAR, MPI_ANY_SOURCE, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, window);
    MPI_Put(in, 5 + step, MPI_CHAR, (rank + 1) % size, 0, 5 + step, MPI_CHAR, window);
    MPI_Win_fence(0, window);
    coprocess(rank, step);
    cat_sco_run_(step, time);
  }
  cat_sco_finalize_();
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
"""

# A typical adaptor: two arrays with one value for each region and each rank.
ADAPTOR = r"""
#include <sim_adaptor_interface.hpp>
#include <vtkDoubleArray.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkUnsignedIntArray.h>
#include <vtkUnsignedLongArray.h>
#include <cstdio>
template <class Array, class T>
static void add(vtkImageData* grid, const std::string& name, T value) {
  vtkNew<Array> array;
  array->SetName(name.c_str());
  array->SetNumberOfTuples(grid->GetNumberOfPoints());
  array->FillTypedComponent(0, value);
  grid->GetPointData()->AddArray(array);
}
static void coprocess(int rank, int step) {
  vtkNew<vtkImageData> grid;
  grid->SetDimensions(2, 2, 2);
  for (std::size_t i = 0; i < cat_sco::meas::get_size(); ++i) {
    add<vtkUnsignedIntArray>(grid, cat_sco::meas::get_name(i) + " : tick", cat_sco::meas::get_counter(i));
    add<vtkDoubleArray>(grid, cat_sco::meas::get_name(i) + " : time", cat_sco::meas::get_time(i));
  }
  for (std::size_t i = 0; i < cat_sco::comm::get_size(); ++i) {
    const std::string to = "MPI_Put to " + std::to_string(i);
    add<vtkUnsignedIntArray>(grid, to + " : counter", cat_sco::comm::get_counter_put(i));
    add<vtkUnsignedLongArray>(grid, to + " : bytes", cat_sco::comm::get_bytes_put(i));
  }
  char path[32];
  std::snprintf(path, sizeof path, "adaptor-%d", rank);
  FILE* out = std::fopen(path, "a");
  vtkPointData* data = grid->GetPointData();
  for (int a = 0; a < data->GetNumberOfArrays(); ++a)
    std::fprintf(out, "%d|%s|%.17g\n", step, data->GetArray(a)->GetName(), data->GetArray(a)->GetTuple1(7));
  std::fprintf(out, "%d|others|%g\n", step,
               double(cat_sco::comm::get_counter_send(0) + cat_sco::comm::get_counter_isend(0) +
                      cat_sco::comm::get_counter_get(0) + cat_sco::comm::get_bytes_send(0) +
                      cat_sco::comm::get_bytes_isend(0) + cat_sco::comm::get_bytes_get(0)));
  std::fclose(out);
}
"""

FORTRAN = """
program solver
  implicit none
  external :: cat_sco_initialize{u}, cat_sco_run{u}, cat_sco_finalize{u}, cat_sco_pipeline_next{u}
  integer :: step
  real(8) :: time
  call cat_sco_initialize{u}()
  do step = 100000, 100002
    time = 0.5d0 * step
    call cat_sco_pipeline_next{u}()
    call cat_sco_run{u}(step, time)
  end do
  call cat_sco_finalize{u}()
end program solver
"""

BY_VALUE = """
void cat_sco_initialize_(void);
void cat_sco_run_(int step, double time);
int main(void) {
  cat_sco_initialize_();
  for (int step = FIRST; step < FIRST + 7; step++) cat_sco_run_(step, 0.5);
  return 0;
}
"""


def test_four_calls_measure_a_simulation(mpi, build_c, bin_dir):
    program = build_c(SIMULATION, by=mpi)
    result = mpi.run(2, bin_dir / "perfield-exec", program, env={"PERFIELD_REGIONS": ""})
    assert result.returncode == 0, result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert [(frame.label, frame.time) for frame in run.frames()] == [(0, 0), (1, 0.25), (2, 0.5)]
    for frame in run.frames():
        assert list(frame.values["smooth_count"]) == [2, 2]  # only from the armed place
    assert run.state == "finished"


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_program_runs_without_perfield(build_c, mpirun, language):
    result = mpirun(2, build_c(SIMULATION, name=f"simulation.{language}"))
    assert (result.returncode, result.stderr) == (0, "")


def test_adaptor_values_equal_the_frame(build_c, mpirun, bin_dir):
    if not VTK.is_dir():
        pytest.skip("VTK's headers are not installed (Debian: paraview-dev)")
    text = ADAPTOR + SIMULATION.replace("#ifdef ADAPTOR", "#if 1").replace("\nADAPTOR\n", "\n")
    libraries = [f"-l{name}-pv5.11" for name in ("vtkCommonDataModel", "vtkCommonCore", "vtksys")]
    program = build_c(text, f"-I{VTK}", *libraries, name="adaptor.cpp")
    result = mpirun(2, bin_dir / "perfield-exec", program, env={"PERFIELD_REGIONS": ""})
    assert result.returncode == 0, result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    for rank in range(2):
        lines = (result.cwd / f"adaptor-{rank}").read_text().splitlines()
        rows = [line.split("|") for line in lines]
        for step, frame in enumerate(run.frames()):
            reported = {name: float(value) for number, name, value in rows if number == str(step)}
            other = 1 - rank
            assert reported.pop("others") == 0
            assert reported == {
                "smooth : tick": 2,
                "smooth : time": pytest.approx(frame.values["smooth_time_s"][rank], abs=1e-12),
                f"MPI_Put to {rank} : counter": 0,
                f"MPI_Put to {rank} : bytes": 0,
                f"MPI_Put to {other} : counter": 1,
                f"MPI_Put to {other} : bytes": 5 + step,
            }


@pytest.mark.parametrize("underscores", ["", "_"])
@pytest.mark.parametrize("flag", ["-O2", "-fsecond-underscore"])
def test_fortran_calls_both_names(perfield_flags, execute, bin_dir, tmp_path, underscores, flag):
    source, program = tmp_path / "solver.f90", tmp_path / "solver"
    source.write_text(FORTRAN.format(u=underscores))
    words = ["gfortran", flag, source, "-o", program, *perfield_flags("--libs")]
    subprocess.run([str(word) for word in words], check=True, cwd=tmp_path)
    result = execute(program)
    assert result.returncode == 0, result.stderr
    frames = perfield.open(tmp_path / "perfield-run").frames()
    assert [(f.label, f.time) for f in frames] == [(n, 0.5 * n) for n in (100000, 100001, 100002)]
    assert result.stderr.count("perfield_pipeline_next was called but no region was entered") == 1


@pytest.mark.parametrize("first", [0, 65529])
def test_small_steps_passed_by_value_warn(perfield_flags, execute, tmp_path, first):
    source, program = tmp_path / "solver.c", tmp_path / "solver"
    source.write_text(BY_VALUE)
    words = ["gcc", f"-DFIRST={first}", source, "-o", program, *perfield_flags("--libs")]
    subprocess.run([str(word) for word in words], check=True, cwd=tmp_path)
    result = execute(program)
    assert result.returncode == 0, result.stderr
    labels = [frame.label for frame in perfield.open(tmp_path / "perfield-run").frames()]
    assert labels == list(range(first, first + 7))
    assert result.stderr.count("simulation_interface.h") == 1


def test_adaptor_header_is_cpp11(perfield_flags, tmp_path):
    (tmp_path / "adaptor.cpp").write_text("#include <sim_adaptor_interface.hpp>\nint main() {}\n")
    strict = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["g++", *strict, *perfield_flags("--cflags"), "adaptor.cpp"], check=True, cwd=tmp_path)
    assert shutil.which("g++")
