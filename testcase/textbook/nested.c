/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nested.c - each step relaxes five times, with a halo each, and ends with the largest change. */
#include "textbook.h"

static void relax(double* u) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Sendrecv(&u[0], 1, MPI_DOUBLE, next, 0, &u[1], 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  u[0] = work(5);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  double u[2] = {0, 0}, most;
  for (int step = 0; step < n_steps; ++step) {
    for (int i = 0; i < 5; ++i) relax(u);
    MPI_Allreduce(&u[0], &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
