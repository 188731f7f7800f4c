# SPDX-License-Identifier: BSD-3-Clause
"""MPI calls that a program does not make by name: counted, or the reason is given."""

from __future__ import annotations

import subprocess

import pytest
from compiled.c_programs import mpi_program
from conftest import installed_mpi

import perfield

EXCHANGE = """
  int rank; double a[100] = {0}, b[100];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 10; ++i)
    MPI_Sendrecv(a, 100, MPI_DOUBLE, 1 - rank, 0, b, 100, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
"""
SOLVER = f"#include <mpi.h>\nvoid solve(void) {{ MPI_Init(0, 0); {EXCHANGE} MPI_Finalize(); }}\n"
HOST = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW | (argc > 2 ? RTLD_DEEPBIND : 0));
  void (*solve)(void) = library ? (void (*)(void))dlsym(library, "solve") : 0;
  if (!solve) return puts(dlerror()), 9;
  solve();
  return 0;
}
"""
BY_NAME = """
#include <dlfcn.h>
#include <mpi.h>
int main(void) {
  void* mpi = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
  if (!mpi) return 9;
#define GET(name) __typeof__(&MPI_##name) name = (__typeof__(&MPI_##name))dlsym(mpi, "MPI_" #name)
  GET(Init); GET(Finalize); GET(Comm_rank); GET(Sendrecv);
  MPI_Comm world = (MPI_Comm)dlsym(mpi, "ompi_mpi_comm_world");
  MPI_Datatype real = (MPI_Datatype)dlsym(mpi, "ompi_mpi_double");
  Init(0, 0);
  int rank; Comm_rank(world, &rank);
  double a[100] = {0}, b[100];
  for (int i = 0; i < 10; ++i)
    Sendrecv(a, 100, real, 1 - rank, 0, b, 100, real, 1 - rank, 0, world, MPI_STATUS_IGNORE);
  Finalize();
  return 0;
}
"""
OWN_TOOL = """
static int seen;
int MPI_Send(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  ++seen;
  return PMPI_Send(b, n, t, to, tag, c);
}
"""
OWN_INIT = "int MPI_Init(int* c, char*** v) { return PMPI_Init(c, v); }\n"
# A tool that asks MPI itself for the function behind its own.
TOOL = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int MPI_Barrier(MPI_Comm comm) {
  void* mpi = dlopen("libmpi.so.40", RTLD_NOW | RTLD_NOLOAD);
  int (*next)(MPI_Comm) = (int (*)(MPI_Comm))dlsym(mpi, "MPI_Barrier");
  puts("tool");
  return next(comm);
}
"""


def messages(folder) -> list[tuple[int, int, int, int]]:
    """(source, target, count, bytes) of the run there."""
    rows = perfield.open(folder / "perfield-run").messages()
    sums = rows.groupby(["source", "target"])[["count", "bytes"]].sum()
    return [(*pair, int(row["count"]), int(row["bytes"])) for pair, row in sums.iterrows()]


BOTH_WAYS = [(0, 1, 10, 8000), (1, 0, 10, 8000)]


@pytest.fixture
def run(mpirun, bin_dir, tmp_path):
    """run(program, *arguments): two ranks under perfield-exec; returns what they print on stderr."""

    def start(*argv, env=None) -> str:
        result = mpirun(2, bin_dir / "perfield-exec", *argv, cwd=tmp_path, env=env)
        assert result.returncode == 0, result.stderr
        return result.stderr

    return start


@pytest.fixture
def library(tmp_path):
    """library(text): a shared library that is linked with Open MPI."""

    def build(text: str):
        source, file = tmp_path / "library.c", tmp_path / "libsolver.so"
        source.write_text(text)
        subprocess.run(["mpicc", "-shared", "-fPIC", source, "-o", file], check=True)
        return file

    return build


def test_functions_that_a_program_asks_mpi_for_are_counted(run, build_c, tmp_path):
    headers = subprocess.run(["mpicc", "--showme:compile"], capture_output=True, text=True, check=True)
    run(build_c(BY_NAME, *headers.stdout.split(), "-ldl", mpi=False))
    assert messages(tmp_path) == BOTH_WAYS


def test_calls_of_ctypes_are_counted(run, tmp_path):
    script = tmp_path / "by_ctypes.py"
    script.write_text("""
import ctypes
mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
world, byte = (ctypes.addressof(ctypes.c_char.in_dll(mpi, f"ompi_mpi_{n}")) for n in ("comm_world", "byte"))
mpi.MPI_Init(None, None)
rank, room, P = ctypes.c_int(), ctypes.create_string_buffer(800), ctypes.c_void_p
mpi.MPI_Comm_rank(P(world), ctypes.byref(rank))
for _ in range(10):
    if rank.value == 0:
        mpi.MPI_Send(room, 800, P(byte), 1, 0, P(world))
    else:
        mpi.MPI_Recv(room, 800, P(byte), 0, 0, P(world), None)
mpi.MPI_Finalize()
""")
    run("/usr/bin/python3", script, env={"PERFIELD_MPI": "openmpi"})
    assert messages(tmp_path) == [(0, 1, 10, 8000)]


def test_solver_that_is_opened_late_is_counted(run, build_c, library, tmp_path):
    run(build_c(HOST, "-ldl", mpi=False), library(SOLVER))
    assert messages(tmp_path) == BOTH_WAYS


def test_solver_that_is_bound_to_its_mpi_is_named(run, build_c, library):
    file = library(SOLVER)
    err = run(build_c(HOST, "-ldl", mpi=False), file, "deep")
    assert f"perfield: the MPI calls of {file} go straight to its MPI, as of a library that is" in err
    assert "open it without RTLD_DEEPBIND" in err


def test_functions_that_the_program_wraps_itself_are_named(run, build_c):
    err = run(build_c(mpi_program("MPI_Barrier(MPI_COMM_WORLD);", before=OWN_TOOL)))
    assert "perfield: this program has MPI_Send of its own, as a PMPI tool that is linked into it" in err


def test_program_that_wraps_mpi_init_itself_is_reported(run, build_c):
    err = run(build_c(mpi_program("MPI_Barrier(MPI_COMM_WORLD);", before=OWN_INIT)))
    assert "perfield: this program has an MPI_Init of its own" in err


def test_tool_that_asks_mpi_for_what_is_behind_it_finds_that(mpirun, bin_dir, build_c, library):
    """It would call itself without end if it got the wrapper, which calls the tool."""
    program = build_c(mpi_program("MPI_Barrier(MPI_COMM_WORLD);"))
    start = f'LD_PRELOAD="$LD_PRELOAD:{library(TOOL)}" exec {program}'
    result = mpirun(2, bin_dir / "perfield-exec", "sh", "-c", start)
    assert (result.returncode, result.stdout) == (0, "tool\ntool\n"), result.stderr


def test_persistent_collectives_of_open_mpi_4_are_counted(run, build_c, tmp_path):
    """Like MPI 4's own: the call, and each start, wait and free."""
    body = """
  double a = 1, sum;
  MPI_Request request;
  for (int i = 0; i < 5; ++i) {
    MPIX_Allreduce_init(&a, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
"""
    run(build_c(mpi_program(body, before="#include <mpi-ext.h>")))
    frame = next(iter(perfield.open(tmp_path / "perfield-run").frames()))
    assert list(frame.values["mpi_call_count"]) == [20, 20]


FORTRAN = """
program persistent
  {uses}
  {request} :: request
  integer :: ierror, i
  double precision :: a, total
  call MPI_Init(ierror)
  a = 1
  do i = 1, 5
    call MPIX_Allreduce_init(a, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &
      request, ierror)
    call MPI_Start(request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Request_free(request, ierror)
  end do
  call MPI_Finalize(ierror)
end program
"""
BINDINGS = {
    "mpif.h": ("include 'mpif.h'", "integer"),
    "mpi": ("use mpi", "integer"),
    "mpi_f08": ("use mpi_f08; use mpi_f08_ext", "type(MPI_Request)"),
}


@pytest.mark.parametrize("binding", BINDINGS)
def test_persistent_collectives_of_fortran_are_counted(run, tmp_path, binding):
    uses, request = BINDINGS[binding]
    (tmp_path / "p.f90").write_text(FORTRAN.format(uses=uses, request=request))
    subprocess.run(["mpif90.openmpi", "-w", "p.f90", "-o", "program"], cwd=tmp_path, check=True)
    run(tmp_path / "program")
    frame = next(iter(perfield.open(tmp_path / "perfield-run").frames()))
    assert list(frame.values["mpi_call_count"]) == [20, 20]


# Of MPI 4, or an extension: their wrappers are left out where both MPIs may come.
NEW = {
    "openmpi": "#include <mpi-ext.h>\n#define INIT MPIX_Allreduce_init\n",
    "mpich": "#define INIT MPI_Allreduce_init\n",
}


@pytest.mark.parametrize("set_mpi", [False, True])
def test_functions_that_are_left_out_for_an_unknown_mpi_are_named(mpi, build_c, execute, tmp_path, set_mpi):
    body = """
  double a = 1, sum; MPI_Request request;
  MPI_Init(0, 0);
  INIT(&a, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Request_free(&request);
  MPI_Finalize();
"""
    (tmp_path / "library.c").write_text(f"#include <mpi.h>\n{NEW[mpi.name]}void solve(void) {{ {body} }}\n")
    file = tmp_path / "libsolver.so"
    subprocess.run([mpi.cc, "-shared", "-fPIC", tmp_path / "library.c", "-o", file], check=True)
    host = build_c(HOST, "-ldl", mpi=False)
    result = execute("perfield-exec", host, file, env={"PERFIELD_MPI": mpi.name} if set_mpi else {})
    assert result.returncode == 0, result.stderr
    name = "MPIX_Allreduce_init" if mpi.name == "openmpi" else "MPI_Allreduce_init"
    sentence = f"perfield: this program may call {name}, and perfield does not count these calls, as it could"
    assert (sentence in result.stderr) == (not set_mpi), result.stderr
    frame = next(iter(perfield.open(tmp_path / "perfield-run").frames()))
    assert list(frame.values["mpi_call_count"]) == [2 if set_mpi else 1]


def test_extensions_without_wrappers_are_named(build_c, bin_dir, tmp_path_factory):
    mpich = installed_mpi("mpich", tmp_path_factory)
    body = "int flag = 1; MPIX_Comm_agree(MPI_COMM_WORLD, &flag); MPIX_Query_cuda_support();"
    result = mpich.run(1, bin_dir / "perfield-exec", build_c(mpi_program(body), by=mpich))
    said = " ".join(line.removeprefix("perfield:").strip() for line in result.stderr.splitlines())
    assert "this program uses MPIX_Comm_agree, for which perfield has no wrappers" in said
