/* SPDX-License-Identifier: BSD-3-Clause
 *
 * partitioned.c - each rank sends 3 messages of 4 partitions of 5 integers to its right neighbour
 * through one partitioned request, and receives as many in 2 partitions of 10. Returns the sum. */
#include "calls.h"

#if MPI_VERSION >= 4

int partitioned(const char* what) {
  int out[20], in[20], sum = 0, flag;
  MPI_Request requests[2];
  for (int i = 0; i < 20; ++i) out[i] = i;
  MPI_Psend_init(out, 4, 5, MPI_INT, right, 0, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in, 2, 10, MPI_INT, left, 0, comm, MPI_INFO_NULL, &requests[1]);
  for (int n = 0; n < 3; ++n) {
    memset(in, 0, sizeof in);
    MPI_Startall(2, requests);
    MPI_Pready(3, requests[0]);
    MPI_Pready_range(0, 2, requests[0]);
    MPI_Parrived(requests[1], 0, &flag);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 20; ++i) sum += in[i];
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  return sum;
}
#endif
