# SPDX-License-Identifier: BSD-3-Clause
"""Waiting is distinguished from computing, in fields and closing lines, with both MPIs."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.c_programs import mpi_program

import perfield

pytestmark = pytest.mark.alone

# Rank 0 computes 200 ms in `flux`. The others compute 20 ms, and then wait for its message.
LATE_SENDER = mpi_program("""
  int word = 0;
  perfield_region flux = perfield_region_define("flux", __FILE__, __LINE__);
  MPI_Barrier(MPI_COMM_WORLD); /* also the first */
  perfield_initialize();
  for (int step = 0; step < 5; step++) {
    perfield_region_begin(flux);
    work(rank == 0 ? 200 : 20);
    if (rank == 0) {
      for (int peer = 1; peer < size; peer++) MPI_Send(&word, 1, MPI_INT, peer, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    perfield_region_end(flux);
    perfield_step(step, step);
    MPI_Barrier(MPI_COMM_WORLD); /* all ranks begin the next step together */
  }
""")

# Rank 1 sends 32 MB at once and waits in MPI_Send until rank 0, which computes first, receives them. Rank 0
# then waits for the bytes, but far shorter. Each rank also sends itself a message.
LATE_RECEIVER = mpi_program("""
  enum { SIZE = 32000000 };
  char* bytes = calloc(SIZE, 1);
  int word = 0, copy = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  perfield_initialize();
  for (int step = 0; step < 4; step++) {
    if (rank == 0) {
      work(300);
      MPI_Recv(bytes, SIZE, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(bytes, SIZE, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Sendrecv(&word, 1, MPI_INT, rank, 1, &copy, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request own;
    MPI_Irecv(&copy, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &own);
    MPI_Send(&word, 1, MPI_INT, rank, 2, MPI_COMM_WORLD);
    MPI_Wait(&own, MPI_STATUS_IGNORE);
    perfield_step(step, step);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(bytes);
""")


@pytest.fixture
def late_sender(mpi, build_c, perfield_flags, bin_dir, tmp_path):
    """The run of LATE_SENDER on three ranks, and its closing lines."""
    program = build_c(LATE_SENDER, *perfield_flags("--cflags"), by=mpi)
    result = mpi.run(3, bin_dir / "perfield-exec", program, cwd=tmp_path, timeout=120)
    assert result.returncode == 0, result.stderr
    return perfield.open(tmp_path / "perfield-run"), result.stderr


def test_waiting_for_a_late_sender_is_not_computing(late_sender):
    run, said = late_sender
    values = run.frame(0).values  # its barrier belongs to the next step
    time, mpi, own = (values[f"flux_{name}time_s"] for name in ("", "mpi_", "compute_"))
    np.testing.assert_allclose(mpi + own, time, atol=1e-9)
    assert own[0] > 0.19 and mpi[0] < 0.5 * own[0]
    assert (mpi[1:] > 0.08).all() and (mpi[1:] > own[1:]).all()
    assert values["waited_for_time_s"][0] > 0.16
    assert (values["waited_for_time_s"][1:] == 0).all()
    assert "explained  " in said and "(late sender " in said
    # Where ranks share PUs, rank 0 may be late since it waits for one.
    is_named = "waits      rank 0 costs the others " in said and "(late sender)" in said
    assert is_named or " for a PU, " in said
    assert "region     flux: " in said and " of it is waiting" in said


def test_late_receiver_is_accused_and_not_the_sender_that_waits(mpi, build_c, bin_dir, tmp_path):
    program = build_c(LATE_RECEIVER, by=mpi)
    result = mpi.run(2, bin_dir / "perfield-exec", program, cwd=tmp_path, timeout=120)
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    waits = run.waits(slice(None))
    assert (waits["rank"] != waits["peer"]).all() and len(waits)
    accused = [line for line in result.stderr.splitlines() if line.startswith("waits ")]
    assert all(" rank 0 costs the others " in line for line in accused), accused
    assert "late receiver" in result.stderr
