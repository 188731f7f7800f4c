/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sends.c - the n-th form of sending sends n integers to the right neighbour; persistent ones are
 * started three times. Everything is received with MPI_Irecv from the left. */
#include "calls.h"

static int out[64], in[64];
static MPI_Request request, sent;

static void post(void) { MPI_Irecv(in, 64, MPI_INT, left, 7, comm, &request); }
static void arrived(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

#define BLOCKING(function, n)                \
  post();                                    \
  MPI_Barrier(comm);                         \
  function(out, n, MPI_INT, right, 7, comm); \
  arrived();

#define STARTED(function, n)                        \
  post();                                           \
  MPI_Barrier(comm);                                \
  function(out, n, MPI_INT, right, 7, comm, &sent); \
  MPI_Wait(&sent, MPI_STATUS_IGNORE);               \
  arrived();

#define PERSISTENT(function, n)                     \
  function(out, n, MPI_INT, right, 7, comm, &sent); \
  for (int i = 0; i < 3; ++i) {                     \
    post();                                         \
    MPI_Barrier(comm);                              \
    if (i == 0)                                     \
      MPI_Start(&sent);                             \
    else                                            \
      MPI_Startall(1, &sent);                       \
    MPI_Wait(&sent, MPI_STATUS_IGNORE);             \
    arrived();                                      \
  }                                                 \
  MPI_Request_free(&sent);

int sends(const char* what) {
  static char buffer[100000];
  void* detached;
  int bytes;
  MPI_Buffer_attach(buffer, sizeof buffer);
  BLOCKING(MPI_Send, 1)
  BLOCKING(MPI_Bsend, 2)
  BLOCKING(MPI_Ssend, 3)
  BLOCKING(MPI_Rsend, 4)
  STARTED(MPI_Isend, 5)
  STARTED(MPI_Ibsend, 6)
  STARTED(MPI_Issend, 7)
  STARTED(MPI_Irsend, 8)
  MPI_Sendrecv(out, 9, MPI_INT, right, 7, in, 64, MPI_INT, left, 7, comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(out, 10, MPI_INT, right, 7, left, 7, comm, MPI_STATUS_IGNORE);
  PERSISTENT(MPI_Send_init, 11)
  PERSISTENT(MPI_Bsend_init, 12)
  PERSISTENT(MPI_Ssend_init, 13)
  PERSISTENT(MPI_Rsend_init, 14)
  MPI_Buffer_detach(&detached, &bytes);
  return 0;
}
