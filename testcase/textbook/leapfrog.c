/* SPDX-License-Identifier: BSD-3-Clause
 *
 * leapfrog.c - a string: halos of blocking messages, even ranks first, and no operation of all
 * ranks but one at the end. */
#include "textbook.h"

static void halo(double* u) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  if (rank % 2 == 0) {
    MPI_Send(&u[0], 1, MPI_DOUBLE, next, 0, MPI_COMM_WORLD);
    MPI_Recv(&u[1], 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&u[1], 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&u[0], 1, MPI_DOUBLE, next, 0, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  begin(argc, argv);
  double u[2] = {1, 1};
  for (int step = 0; step < n_steps; ++step) {
    u[0] = work(20);
    halo(u);
  }
  sum_over_ranks(u[0]);
  MPI_Finalize();
}
