/* SPDX-License-Identifier: BSD-3-Clause
 *
 * lattice.c - a lattice Boltzmann method: collide, stream by persistent requests, and the mass at
 * each 25th step. */
#include "textbook.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  double f[4] = {1, 1, 1, 1};
  MPI_Request requests[4];
  MPI_Send_init(&f[0], 1, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&f[1], 1, MPI_DOUBLE, last, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Recv_init(&f[2], 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Recv_init(&f[3], 1, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &requests[3]);
  for (int step = 0; step < n_steps; ++step) {
    f[0] = f[1] = work(20);
    MPI_Startall(4, requests);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (step % 25 == 24) sum_over_ranks(f[0]);
  }
  for (int i = 0; i < 4; ++i) MPI_Request_free(&requests[i]);
  MPI_Finalize();
}
