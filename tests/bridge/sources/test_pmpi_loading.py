# SPDX-License-Identifier: BSD-3-Clause
"""Which MPI the wrappers find: one loaded locally, Python's, one they are not for; and other tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import perfield

LIBRARIES = Path(perfield.__file__).parent / "lib"
INT, N = 4, 3  # bytes, ranks
#: A Python without perfield.
PYTHON = Path(sys.base_prefix) / "bin/python3"
#: Without these variables, perfield-exec cannot say the launcher of a rank.
UNKNOWN_LAUNCHER = ["env", "-u", "OMPI_COMM_WORLD_RANK", "-u", "HYDI_CONTROL_FD", "-u", "MPI_LOCALRANKID"]
SCRIPT = """
import array
from mpi4py import MPI
world = MPI.COMM_WORLD
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
numbers, got = array.array("i", [7] * (world.rank + 1)), array.array("i", [0] * 10)
request = world.Irecv(got, source=MPI.ANY_SOURCE)
world.Send(numbers, dest=right)
request.Wait()
assert got[0] == 7, got
total = array.array("i", [0])
world.Allreduce(numbers[:1], total)
if world.rank == 0:
    print("total", total[0])
"""


def library(name: str) -> Path:
    """One of the installed wrapper libraries."""
    return LIBRARIES / f"libperfield_{name}.so"


def assert_exchange(counted) -> None:
    """Asserts that each message of programs/exchange.c counts once."""
    for rank in range(N):
        messages = (5, (2 + 3 + 4 + 5 + 6) * INT)
        assert counted.sent_by(rank) == {("isend", (rank + 1) % N): messages}
        assert counted.received_by(rank) == {(rank - 1) % N: messages}
        assert (counted.calls[rank, "allreduce"], counted.calls[rank, "waitall"]) == (5, 5)


def test_locally_loaded_mpi_is_found(mpi, build_c, bin_dir, programs, counted_in):
    plugin = build_c(programs / "plugin.c", "-DPLUGIN", "-shared", "-fPIC", by=mpi)
    host = build_c(programs / "plugin.c", "-ldl", mpi=False, name="host.c")
    for launcher in ([], UNKNOWN_LAUNCHER):
        result = mpi.run(N, *launcher, bin_dir / "perfield-exec", host, plugin, "reversed")
        assert result.returncode == 0, result.stderr
        counted = counted_in(result.cwd / "perfield-run")
        for rank in range(N):
            assert counted.sent_by(rank) == {("sendrecv", (rank - 1) % N): (1, 3 * INT)}
            assert counted.ranks[rank]["sources"] == ["memory", "io", "pmpi"]


@pytest.mark.parametrize("order", ["openmpi:mpich", "mpich:openmpi"])
def test_only_matching_wrappers_count(mpi, build_c, bin_dir, programs, counted_in, order):
    preload = ":".join(str(library(name)) for name in order.split(":"))
    result = mpi.run(N, "env", f"LD_PRELOAD={preload}", build_c(programs / "exchange.c", by=mpi))
    assert (result.returncode, result.stdout) == (0, "sum 15\n"), result.stderr
    assert "not measured" not in result.stderr
    assert_exchange(counted_in(result.cwd / "perfield-run"))


def test_wrappers_for_another_mpi_pass_calls_on(mpi, calls_program):
    other = {"openmpi": "mpich", "mpich": "openmpi"}[mpi.name]
    env = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}  # see calls
    start = f"LD_PRELOAD={library(other)}:$LD_PRELOAD exec {calls_program} 'no steps'"
    result = mpi.run(4, "sh", "-c", start, env=env)
    assert result.returncode == 0, result.stderr
    plain = mpi.run(4, calls_program, "no steps", env=env)
    assert sorted(result.stdout.splitlines()) == sorted(plain.stdout.splitlines())
    names = {"openmpi": "Open MPI", "mpich": "MPICH"}
    assert f"this program uses {names[mpi.name]} 4." in result.stderr
    assert f"but the loaded wrappers are for {names[other]}; its MPI calls are not" in result.stderr
    assert result.stderr.count("perfield: ") == 1
    assert not (result.cwd / "perfield-run").exists()


def test_function_missing_in_the_mpi_returns_an_error(mpi, build_c):
    if mpi.name == "mpich":
        pytest.skip("MPICH has all functions that the wrappers know")
    source = r"""
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <mpi.h>
    #include <stdio.h>
    int main(int argc, char** argv) {
      MPI_Init(&argc, &argv);
      int (*barrier)(MPI_Comm, MPI_Info, MPI_Request*) =
          (int (*)(MPI_Comm, MPI_Info, MPI_Request*))dlsym(RTLD_DEFAULT, "MPI_Barrier_init");
      MPI_Request request;
      if (!barrier) return 2;
      printf("%d\n", barrier(MPI_COMM_WORLD, MPI_INFO_NULL, &request) != MPI_SUCCESS);
      MPI_Finalize();
      return 0;
    }
    """
    # The wrappers for MPICH have functions that Open MPI 4.1 lacks.
    result = mpi.run(1, "env", f"LD_PRELOAD={library('mpich')}", build_c(source, "-ldl", by=mpi))
    assert (result.returncode, result.stdout) == (0, "1\n"), result.stderr


def test_other_pmpi_tools_see_each_call_once(mpi, build_c, bin_dir, programs, counted_in):
    above, below = (
        build_c(
            programs / "interposer.c", "-shared", "-fPIC", "-ldl", f'-DTOOL="{name}"', *flags,
            by=mpi, name=f"{name}.c",
        )
        for name, flags in (("above", ["-DNEXT"]), ("below", []))
    )  # fmt: skip
    program = build_c(programs / "exchange.c", by=mpi)
    start = f"LD_PRELOAD={above}:$LD_PRELOAD:{below} exec {program}"
    result = mpi.run(N, bin_dir / "perfield-exec", "sh", "-c", start)
    assert result.returncode == 0, result.stderr
    lines = sorted(result.stdout.splitlines())
    assert lines == ["above 1 5 5 5"] * N + ["below 1 5 5 5"] * N + ["sum 15"]
    assert_exchange(counted_in(result.cwd / "perfield-run"))


def assert_script(result, counted) -> None:
    """Asserts that SCRIPT ran and that its messages were counted."""
    assert (result.returncode, result.stdout) == (0, f"total {7 * N}\n"), result.stderr
    for rank in range(N):
        left, right = (rank - 1) % N, (rank + 1) % N
        assert counted.sent_by(rank) == {("send", right): (1, (rank + 1) * INT)}
        assert counted.received_by(rank) == {left: (1, (left + 1) * INT)}
        assert counted.moved_by(rank)["allreduce"] == (INT, INT)


def test_debian_mpi4py_is_measured(mpirun, bin_dir, counted_in):
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode:
        pytest.skip("mpi4py is not installed for Debian's Python")
    for launcher in ([], UNKNOWN_LAUNCHER):
        result = mpirun(N, *launcher, bin_dir / "perfield-exec", python, "-c", SCRIPT)
        assert_script(result, counted_in(result.cwd / "perfield-run"))
        assert "not measured" not in result.stderr


def test_mpi4py_wheel_is_measured(mpi, bin_dir, counted_in, mpi4py_wheel):
    command = [bin_dir / "perfield-exec", PYTHON, "-c", SCRIPT]
    result = mpi.run(N, *command, env=mpi4py_wheel[mpi.name])
    assert_script(result, counted_in(result.cwd / "perfield-run"))
    assert "not measured" not in result.stderr


def test_unknown_mpi_leaves_mpi4_functions_unwrapped(mpi, bin_dir, counted_in, mpi4py_wheel):
    """The wheel uses MPI_Send_c if the MPI has it: it must not find one of ours instead."""
    command = [*UNKNOWN_LAUNCHER, bin_dir / "perfield-exec", PYTHON, "-c", SCRIPT]
    result = mpi.run(N, *command, env=mpi4py_wheel[mpi.name])
    counted = counted_in(result.cwd / "perfield-run")
    if mpi.name == "openmpi":  # 4.1 has no such functions
        assert_script(result, counted)
    else:
        assert (result.returncode, result.stdout) == (0, f"total {7 * N}\n"), result.stderr
        assert counted.ranks[0]["sources"] == ["memory", "io", "pmpi"]
        assert (
            result.stderr.count(" more, and perfield does not count these calls, as it could not know the")
            == 1
        )
    reported = mpi.run(N, *command, env={**mpi4py_wheel[mpi.name], "PERFIELD_MPI": mpi.name})
    assert_script(reported, counted_in(reported.cwd / "perfield-run"))
