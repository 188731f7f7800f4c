/* SPDX-License-Identifier: BSD-3-Clause
 *
 * multigrid.c - V-cycles over five levels, by recursion; the norm after each. */
#include "textbook.h"

static void smooth(double* u, int level) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Request requests[2];
  MPI_Irecv(&u[1], 1, MPI_DOUBLE, last, level, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&u[0], 1, MPI_DOUBLE, next, level, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  u[0] = work(10.0 / (1 << level));
}

static void cycle(double* u, int level) {
  smooth(u, level);
  if (level == 4) {
    u[0] = sum_over_ranks(u[0]);
    return;
  }
  cycle(u, level + 1);
  smooth(u, level);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  double u[2] = {1, 1};
  for (int n = 0; n < n_steps && sum_over_ranks(u[0]) >= 0; ++n) cycle(u, 0);
  MPI_Finalize();
}
