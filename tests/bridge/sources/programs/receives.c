/* SPDX-License-Identifier: BSD-3-Clause
 *
 * receives.c - the n-th way of receiving takes n integers from the left neighbour into a buffer for
 * 64. Odd ways name the source, even ones take any; most ignore the status. Returns how many ways
 * there were. */
#include "calls.h"

static int out[64], in[64], flag, which, n_done, indices[2];
static MPI_Request requests[2];
static MPI_Message message;
static MPI_Status status, statuses[2];
static int way;

/* Sends `way` integers to the right; the source to receive from. */
static int next_way(void) {
  ++way;
  MPI_Isend(out, way, MPI_INT, right, way, comm, &requests[1]);
  return way % 2 ? left : MPI_ANY_SOURCE;
}
static void post(int source) { MPI_Irecv(in, 64, MPI_INT, source, way, comm, &requests[0]); }
static void sent(void) { MPI_Wait(&requests[1], MPI_STATUS_IGNORE); }

#define BOTH_SOURCES(...)          \
  for (int i = 0; i < 2; ++i) {    \
    const int source = next_way(); \
    __VA_ARGS__                    \
  }

int receives(const char* what) {
  way = 0;
  BOTH_SOURCES(MPI_Recv(in, 64, MPI_INT, source, way, comm, MPI_STATUS_IGNORE); sent();)
  BOTH_SOURCES(MPI_Recv(in, 64, MPI_INT, source, way, comm, &status); sent();)
  BOTH_SOURCES(post(source); MPI_Wait(&requests[0], &status); sent();)
  BOTH_SOURCES(post(source); MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);)
  BOTH_SOURCES(post(source); MPI_Waitall(2, requests, statuses);)
  BOTH_SOURCES(post(source);
               for (int k = 0; k < 2; ++k) MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);)
  BOTH_SOURCES(post(source); for (int k = 0; k < 2; k += n_done)
                   MPI_Waitsome(2, requests, &n_done, indices, MPI_STATUSES_IGNORE);)
  BOTH_SOURCES(post(source); do MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE); while (!flag);
               sent();)
  BOTH_SOURCES(post(source); do MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
               while (!flag);)
  BOTH_SOURCES(post(source); for (int k = 0; k < 2; k += flag && which != MPI_UNDEFINED)
                   MPI_Testany(2, requests, &which, &flag, MPI_STATUS_IGNORE);)
  BOTH_SOURCES(post(source); for (int k = 0; k < 2; k += n_done)
                   MPI_Testsome(2, requests, &n_done, indices, statuses);)
  BOTH_SOURCES(MPI_Probe(source, way, comm, &status);
               MPI_Recv(in, 64, MPI_INT, status.MPI_SOURCE, way, comm, MPI_STATUS_IGNORE); sent();)
  BOTH_SOURCES(do MPI_Iprobe(source, way, comm, &flag, MPI_STATUS_IGNORE); while (!flag);
               MPI_Recv(in, 64, MPI_INT, source, way, comm, MPI_STATUS_IGNORE); sent();)
  BOTH_SOURCES(MPI_Mprobe(source, way, comm, &message, MPI_STATUS_IGNORE);
               MPI_Mrecv(in, 64, MPI_INT, &message, MPI_STATUS_IGNORE); sent();)
  BOTH_SOURCES(do MPI_Improbe(source, way, comm, &flag, &message, MPI_STATUS_IGNORE); while (!flag);
               MPI_Imrecv(in, 64, MPI_INT, &message, &requests[0]);
               MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);)
  BOTH_SOURCES(MPI_Recv_init(in, 64, MPI_INT, source, way, comm, &requests[0]);
               MPI_Start(&requests[0]); MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
               MPI_Wait(&requests[0], MPI_STATUS_IGNORE); /* not started: no message */
               MPI_Request_free(&requests[0]);)

  /* None of these is a message. */
  MPI_Irecv(in, 64, MPI_INT, MPI_ANY_SOURCE, 999, comm, &requests[0]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Recv(in, 64, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
  MPI_Irecv(in, 64, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Mprobe(MPI_PROC_NULL, 0, comm, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(in, 64, MPI_INT, &message, MPI_STATUS_IGNORE);
  return way;
}
