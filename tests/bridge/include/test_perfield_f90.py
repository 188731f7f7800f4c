# SPDX-License-Identifier: BSD-3-Clause
"""perfield.f90: Fortran programs that run without perfield and are measured with it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import perfield

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-std=f2008"]

EVERY_CALL = """
program every_call
  use perfield
  use iso_c_binding
  implicit none
  integer(c_int32_t) :: region
  real(c_double), target :: r8(2, 2, 2, 2) = 1, r81(8) = 1, r82(3, 8) = 1, points(3, 2, 2, 2) = 1
  real(c_float), target :: r4(2, 2, 2, 2) = 1, x(2) = [0.0, 1.0]
  integer(c_int32_t), target :: i4(2, 2, 2, 2) = 1, cells(4) = [1, 2, 3, 4], offsets(2) = [0, 4]
  integer, parameter :: extent(6) = [0, 1, 0, 1, 0, 1]
  call perfield_pipeline_next()
  call perfield_initialize()
  region = perfield_region_define("work")
  region = perfield_region_define("more work  ", "every_call.f90", 14)
  call perfield_region_begin(region)
  call perfield_region_begin_on(region, 0)
  call perfield_region_end(region)
  call perfield_region_end(region)
  call perfield_begin("by name ")
  call perfield_end("by name")
  call perfield_pause()
  call perfield_resume()
  call perfield_mesh_image(0, extent, [0d0, 0d0, 0d0], [1d0, 1d0, 1d0])
  call perfield_mesh_rectilinear(1, extent, x, x, x)
  call perfield_mesh_structured(2, extent, points)
  call perfield_mesh_unstructured(3, r82, cells, offsets, [10], 1)
  call perfield_mesh_unstructured(4, r82, int(cells, c_int64_t), int(offsets, c_int64_t), [10])
  call perfield_mesh_ghosts(0, perfield_points, i4(1, :, :, :))
  call perfield_field(0, "vector", perfield_points, r8)
  call perfield_field(0, "scalar", perfield_points, r81)
  call perfield_field(0, "single", perfield_points, r4(2, :, :, :))
  call perfield_field(0, "number", perfield_points, i4(2, :, :, :))
  call perfield_step(1, 0.5)
  call perfield_step(2, 1d0)
  call perfield_step(3_c_int64_t, 1.5)
  call perfield_step(4_c_int64_t, 2d0)
  print "(a, l2, a, i0)", "measuring", perfield_measuring(), ", region ", region
  call perfield_mesh_changed()
  call perfield_mesh_size(512, 729, 64)
  call perfield_finalize()
end program every_call
"""

ARRAYS = """
program arrays
  use perfield
  implicit none
  integer, parameter :: ni = 4, nj = 3, nk = 2
  real(8), target :: q(5, 0:ni + 1, 0:nj + 1, 0:nk + 1), wide(ni, nj, nk, 3), reversed(ni * nj * nk)
  real(4), target :: velocity(3, ni * nj * nk)
  integer, target :: material(ni, nj), none(0)
  integer :: v, i, j, k
  do k = 0, nk + 1; do j = 0, nj + 1; do i = 0, ni + 1; do v = 1, 5
    q(v, i, j, k) = 1000 * v + 100 * k + 10 * j + i
  end do; end do; end do; end do
  wide = reshape([(real(i, 8), i = 1, size(wide))], shape(wide))
  velocity = reshape([(real(i), i = 1, size(velocity))], shape(velocity))
  material = reshape([(i, i = 1, size(material))], shape(material))
  reversed = [(real(i, 8), i = 1, size(reversed))]
  call perfield_mesh_image(0, [1, ni, 1, nj, 1, nk], [0d0, 0d0, 0d0], [1d0, 1d0, 1d0])
  call perfield_mesh_image(1, [1, ni, 1, nj, 1, 1], [0d0, 0d0, 0d0], [1d0, 1d0, 1d0])
  call perfield_initialize()
  call perfield_field(0, "density", perfield_points, q(2, 1:ni, 1:nj, 1:nk))
  call perfield_field(0, "momentum", perfield_points, q(3:5, 1:ni, 1:nj, 1:nk))
  call perfield_field(0, "wide", perfield_points, wide, components_along=4)
  call perfield_field(0, "velocity", perfield_points, velocity, components_along=1)
  call perfield_field(0, "reversed", perfield_points, reversed(size(reversed):1:-1))
  call perfield_field(1, "material", perfield_points, material)
  call perfield_field(1, "none", perfield_points, none)
  q(2, 1, 1, 1) = -1  ! read when the step closes
  call perfield_step(0, 0.0)
end program arrays
"""

MESHES = """
program meshes
  use perfield
  implicit none
  integer :: i
  real(8) :: points(3, 4) = reshape([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], [3, 4])
  real(8) :: curved(3, 3, 2, 2) = reshape([(i, i = 0, 35)], [3, 3, 2, 2])
  call perfield_mesh_unstructured(0, points, [1, 2, 3, 4], [0, 4], [10], 1)
  call perfield_mesh_unstructured(1, real(points, 4), [1_8, 2_8, 3_8, 4_8], [0_8, 4_8], [10])
  call perfield_mesh_structured(2, [0, 2, 0, 1, 0, 1], curved)
  call perfield_mesh_ghosts(2, perfield_cells, [0, 1])
  call perfield_mesh_rectilinear(3, [0, 2, 0, 1, 5, 5], [0d0, 1d0, 4d0], [0d0, 2d0], [7d0])
  call perfield_initialize()
  call perfield_step(0, 0.0)
end program meshes
"""

# Each call is one case of a test below.
WRONG_MESHES = """
program wrong_meshes
  use perfield
  implicit none
  real(8), target :: points(3, 4) = 0, x(5) = [0, 1, 2, 3, 4], q(7) = 0
  call perfield_initialize()
  select case (CASE)
  case (1)
    call perfield_mesh_unstructured(0, points, [1, 2, 3, 5], [0, 4], [10], 1)
  case (2)
    call perfield_mesh_unstructured(0, points, [0, 1, 2, 3], [0, 4], [10])
  case (3)
    call perfield_mesh_rectilinear(0, [0, 2, 0, 1, 0, 1], x, x, x)
  case (4)
    call perfield_mesh_structured(0, [0, 2, 0, 1, 0, 0], reshape(points, [3, 2, 2, 1]))
  case (5)
    call perfield_mesh_unstructured(0, points, [1, 2, 3, 4], [1, 5], [10])
  case (6)
    call perfield_mesh_image(0, [1, 2, 1, 2, 1, 2], [0d0, 0d0, 0d0], [1d0, 1d0, 1d0])
    call perfield_field(0, "q", perfield_points, q)
  end select
  call perfield_step(0, 0.0)
  print "(a)", "the answer is 42"
end program wrong_meshes
"""

# The C symbol starts measuring without the module, as MPI_Init in C would: so the module's first call is the
# one that arms.
PIPELINE = """
program pipeline
  use perfield
  use iso_c_binding
  implicit none
  interface
    function dlsym(handle, symbol) bind(C, name="dlsym") result(address)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: symbol(*)
      type(c_funptr) :: address
    end function dlsym
    subroutine without_arguments() bind(C)
    end subroutine without_arguments
  end interface
  procedure(without_arguments), pointer :: initialize
  integer :: step
  call c_f_procpointer(dlsym(c_null_ptr, "perfield_initialize" // c_null_char), initialize)
  call initialize()
  do step = 1, 3
    call perfield_pipeline_next()
    call flux()
    call perfield_pipeline_next()
    call flux()
    call flux()
    call perfield_step(step, 0.25 * step)
  end do
contains
  subroutine flux()
    integer, save :: region = -1
    if (region < 0) region = perfield_region_define("flux", "pipeline.f90", 16)
    call perfield_region_begin(region)
    call perfield_region_end(region)
  end subroutine flux
end program pipeline
"""

WITH_MPI = """
program with_mpi
  use mpi
  use perfield
  implicit none
  integer :: step, error
  call mpi_init(error)
  call perfield_initialize()
  do step = 1, 3
    call mpi_barrier(mpi_comm_world, error)
    call perfield_step(step, 0.5 * step)
  end do
  call mpi_finalize(error)
end program with_mpi
"""


@pytest.fixture(scope="session")
def build_fortran(perfield_flags, tmp_path_factory):
    """build_fortran(text, *flags, compiler="gfortran"): compiles perfield.f90 and a program with all
    warnings as errors; returns the program's Path."""
    (module,) = perfield_flags("--fortran")

    def build(text: str, *flags: str, compiler: str = "gfortran") -> Path:
        folder = tmp_path_factory.mktemp("fortran")
        (folder / "program.f90").write_text(text)
        for words in ([*STRICT, "-c", module], ["-Wall", "perfield.o", "program.f90", "-o", "program"]):
            command = [compiler, "-g", *flags, *words]
            result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert (result.returncode, result.stderr) == (0, ""), " ".join(command)
        return folder / "program"

    return build


@pytest.fixture
def measured_fortran(build_fortran, execute, bin_dir, tmp_path):
    """measured_fortran(text, *flags): runs a Fortran program without MPI under perfield-exec; returns its
    perfield.Run."""

    def run(text: str, *flags: str) -> perfield.run.Run:
        result = execute(bin_dir / "perfield-exec", build_fortran(text, *flags))
        assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / "perfield-run")

    return run


@pytest.mark.parametrize("flags", [("-O0", "-fcheck=all", "-ffpe-trap=invalid,zero"), ("-O3",)])
def test_every_call_does_nothing_without_perfield(build_fortran, execute, flags):
    result = execute(build_fortran(EVERY_CALL, *flags))
    assert (result.returncode, result.stdout) == (0, "measuring F, region 0\n"), result.stderr
    assert "fortran" not in result.stderr and "perfield" not in result.stderr


@pytest.mark.parametrize("flags", [("-O0", "-fcheck=all"), ("-O3",)])
def test_every_call_reaches_perfield(measured_fortran, flags):
    run = measured_fortran(EVERY_CALL, *flags)
    assert [(frame.label, frame.time) for frame in run.frames()] == [(1, 0.5), (2, 1), (3, 1.5), (4, 2)]
    values = run.frame(0).values
    assert values["more_work_count"][0] == 2
    assert values["by_name_count"][0] == 1
    regions = {region.name: (region.file, region.line) for region in run.known_regions if region.block < 0}
    assert regions["more work"] == ("every_call.f90", 14)
    assert sorted({name for _, name in run.fields(0, 3)}) == ["number", "scalar", "single", "vector"]


@pytest.mark.parametrize("flags", [("-O0", "-fcheck=all"), ("-O3",)])
def test_array_parts_are_read_when_the_step_closes(measured_fortran, flags):
    fields = measured_fortran(ARRAYS, *flags).fields(0, 0)
    points = [(k, j, i) for k in (1, 2) for j in (1, 2, 3) for i in (1, 2, 3, 4)]
    density = [2000 + 100 * k + 10 * j + i for k, j, i in points]
    assert np.array_equal(fields[0, "density"].values, [-1, *density[1:]])
    momentum = [[1000 * v + 100 * k + 10 * j + i for v in (3, 4, 5)] for k, j, i in points]
    assert np.array_equal(fields[0, "momentum"].values, momentum)
    assert np.array_equal(fields[0, "wide"].values, np.arange(1, 73).reshape(3, 24).T)
    assert np.array_equal(fields[0, "velocity"].values, np.arange(1, 73).reshape(24, 3))
    assert np.array_equal(fields[0, "reversed"].values, np.arange(24, 0, -1))
    assert fields[1, "material"].values.dtype == np.int32
    assert np.array_equal(fields[1, "material"].values, np.arange(1, 13))
    assert (1, "none") not in fields  # its size fits no block, so it is reported and omitted


def test_mesh_numbers_start_at_1(measured_fortran):
    first, second, curved, rectilinear = sorted(measured_fortran(MESHES).mesh(0, 1), key=lambda b: b.block)
    for block in (first, second):
        assert np.array_equal(block.connectivity, [0, 1, 2, 3])
        assert np.array_equal(block.offsets, [0, 4])
        assert np.array_equal(block.types, [10])
        assert np.array_equal(block.points, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert np.array_equal(curved.points.ravel(), np.arange(36))
    assert np.array_equal(curved.ghosts["cell"], [0, 1])
    assert np.array_equal(rectilinear.x, [0, 1, 4])
    assert list(rectilinear.extent) == [0, 2, 0, 1, 5, 5]


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        (1, "connectivity[3] names point 5 but the points are 1 to 4 in block 0"),
        (2, "connectivity[0] names point 0 but the points are 1 to 4 in block 0"),
        (3, "x of block 0 has 5 numbers but the extent names 3"),
        (4, "the points of block 0 are 4 but the extent names 6"),
        (5, "offsets must rise from 0 to 4, the length of connectivity (the last is 5)"),
        (6, "field 'q' of block 0 has 7 values but the block has 8 points"),
    ],
)
def test_invalid_mesh_is_reported_with_both_numbers(build_fortran, execute, bin_dir, case, sentence):
    program = build_fortran(WRONG_MESHES.replace("CASE", str(case)))
    result = execute(bin_dir / "perfield-exec", program)
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    assert sentence in result.stderr
    assert result.stderr.count("perfield: ") == 1


@pytest.mark.parametrize("optimisation", ["-O0", "-O3"])
def test_each_calling_line_arms_even_the_first(measured_fortran, optimisation):
    run = measured_fortran(PIPELINE, optimisation)
    fields = {region.field for region in run.known_regions}
    assert len(fields) == 2  # two places arm; the third call of flux is not armed
    for frame in run.frames():
        assert [frame.values[f"{field}_count"][0] for field in fields] == [1, 1]


def test_mpi_program_runs_with_and_without_perfield(mpi, build_fortran, bin_dir):
    program = build_fortran(WITH_MPI, compiler=mpi.fc)
    alone = mpi.run(2, program)
    assert alone.returncode == 0, alone.stderr
    result = mpi.run(2, bin_dir / "perfield-exec", program)
    assert result.returncode == 0, result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert [frame.label for frame in run.frames()] == [1, 2, 3]
    assert all(frame.present.all() and len(frame.present) == 2 for frame in run.frames())
