/* SPDX-License-Identifier: BSD-3-Clause
 *
 * red_black.c - Gauss-Seidel in two colours: a halo and a half sweep of each, then the largest
 * change. */
#include "textbook.h"

static void half_sweep(double* u, int colour) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Sendrecv(&u[0], 1, MPI_DOUBLE, next, colour, &u[1], 1, MPI_DOUBLE, last, colour,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  u[0] = work(10);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  double u[2] = {1, 1}, change = 1;
  for (int step = 0; step < n_steps && change > 0; ++step) {
    half_sweep(u, 0);
    half_sweep(u, 1);
    MPI_Allreduce(&u[0], &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
