/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pauses.c - one message before, two during and one after MPI_Pcontrol(0). A receive posted during
 * the pause and completed after it counts where it completes. MPI_Pcontrol(2) changes nothing. */
#include "calls.h"

static void pass(int n) {
  int out[8] = {0}, in[8];
  MPI_Sendrecv(out, n, MPI_INT, right, 1, in, 8, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE);
}

int pauses(const char* what) {
  int out[8] = {0}, in[8];
  MPI_Request request;
  MPI_Pcontrol(2);
  pass(1);
  MPI_Pcontrol(0);
  MPI_Pcontrol(0);
  pass(2);
  pass(2);
  MPI_Irecv(in, 8, MPI_INT, MPI_ANY_SOURCE, 2, comm, &request);
  MPI_Pcontrol(1);
  MPI_Send(out, 4, MPI_INT, right, 2, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  pass(3);
  return 0;
}
