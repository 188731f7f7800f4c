# SPDX-License-Identifier: BSD-3-Clause
"""Two programs that connect through an MPI port are two runs, with messages between them."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest
from compiled.c_programs import mpi_program
from conftest import clean_environment

import perfield

CONNECTED = mpi_program(
    """
  char port[MPI_MAX_PORT_NAME] = "";
  int number = 7;
  MPI_Comm other;
  if (!strcmp(argv[1], "server")) {
    if (rank == 0) {
      MPI_Open_port(MPI_INFO_NULL, port);
      FILE* file = fopen("port.new", "w");
      fputs(port, file);
      fclose(file);
      rename("port.new", "port");
    }
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    if (rank == 1) MPI_Recv(&number, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE);
    if (rank == 1) puts("the answer is 42");
  } else {
    FILE* file = NULL;
    while (!(file = fopen("port", "r"))) usleep(10000);
    if (!fgets(port, sizeof port, file)) return 2;
    fclose(file);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, 0, other);
  }
  MPI_Comm_disconnect(&other);
""",
    before="#include <string.h>",
)
OUTSIDE = -2


@pytest.fixture
def rendezvous(tmp_path):
    """Starts Open MPI's name server, which lets two mpiruns connect; returns the words for mpirun."""
    if shutil.which("ompi-server") is None:
        pytest.skip("ompi-server is not installed")
    address = tmp_path / "address"
    process = subprocess.Popen(["ompi-server", "--no-daemonize", "-r", address], env=clean_environment())
    try:
        for _ in range(600):
            if address.exists() and address.stat().st_size:
                break
            time.sleep(0.05)
        yield ["--ompi-server", f"file:{address}"]
    finally:
        process.kill()
        process.wait()


def test_connected_worlds_are_separate_runs(rendezvous, build_c, bin_dir, tmp_path):
    """Open MPI only: Debian's MPICH refuses MPI_Open_port."""
    program = build_c(CONNECTED)
    start = ["timeout", "60", "mpirun", "--oversubscribe", *rendezvous, "-n", "2", bin_dir / "perfield-exec"]
    ends = {}
    for name in ("server", "client"):
        ends[name] = subprocess.Popen(
            [*start, program, name],
            env=clean_environment({"PERFIELD_RUN_DIRECTORY": f"run-{name}"}),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    outputs = {name: process.communicate() for name, process in ends.items()}
    assert [process.returncode for process in ends.values()] == [0, 0], outputs
    assert outputs["server"][0] == "the answer is 42\n"
    server, client = (perfield.open(tmp_path / f"run-{name}") for name in ("server", "client"))
    assert (server.n_ranks, client.n_ranks) == (2, 2)
    assert client.frame(0).messages[["source", "target", "count"]].tolist() == [(0, OUTSIDE, 1)]
    assert len(server.frame(0).messages) == 0
    assert server.frame(0).received[["source", "target", "count"]].tolist() == [(OUTSIDE, 1, 1)]
    assert server.damage == client.damage == []
