/* SPDX-License-Identifier: BSD-3-Clause
 *
 * inter_communicator.c - rank i of the first half and rank i of the second send each other i + 1
 * integers over an inter-communicator, and the first half broadcasts ten to the second. */
#include "calls.h"

int inter_communicator(const char* what) {
  int out[64] = {0}, in[64];
  MPI_Comm half, both;
  const int second = rank >= size / 2;
  MPI_Comm_split(comm, second, rank, &half);
  MPI_Intercomm_create(half, 0, comm, second ? 0 : size / 2, 1, &both);
  const int i = rank % (size / 2);
  MPI_Sendrecv(out, i + 1, MPI_INT, i, 1, in, 64, MPI_INT, i, 1, both, MPI_STATUS_IGNORE);
  MPI_Bcast(out, 10, MPI_INT, second ? 0 : i == 0 ? MPI_ROOT : MPI_PROC_NULL, both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  return 0;
}
