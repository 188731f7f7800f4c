/* SPDX-License-Identifier: BSD-3-Clause
 *
 * freed_requests.c - each rank frees requests that are active: receives of 10 integers into room
 * for 64, some of which have arrived by then, some not; sends; and receives that it has cancelled.
 */
#include "calls.h"

static int out[64], in[8][64], flag;
static MPI_Request request;
static MPI_Status status;

static void post(int n, int source) { MPI_Irecv(in[n], 64, MPI_INT, source, n, comm, &request); }
static void free_arrived(int n, int source) {
  post(n, source);
  MPI_Sendrecv(out, 10, MPI_INT, right, n, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm, &status);
  do MPI_Request_get_status(request, &flag, &status);
  while (!flag);
  MPI_Request_free(&request);
}

int freed_requests(const char* what) {
  post(0, left); /* freed before anything can have arrived */
  MPI_Request_free(&request);
  post(1, MPI_ANY_SOURCE);
  MPI_Request_free(&request);
  MPI_Recv_init(in[2], 64, MPI_INT, left, 2, comm, &request);
  MPI_Start(&request);
  MPI_Request_free(&request);
  MPI_Barrier(comm);
  for (int n = 0; n < 3; ++n) {
    MPI_Isend(out, 10, MPI_INT, right, n, comm, &request);
    MPI_Request_free(&request);
  }
  free_arrived(3, left);
  free_arrived(4, MPI_ANY_SOURCE);

  /* No messages: cancelled, never started, from nobody. */
  post(5, left);
  MPI_Cancel(&request);
  MPI_Request_free(&request);
  MPI_Recv_init(in[6], 64, MPI_INT, left, 6, comm, &request);
  MPI_Request_free(&request);
  post(7, MPI_PROC_NULL);
  MPI_Request_free(&request);
  MPI_Barrier(comm);
  return 0;
}
