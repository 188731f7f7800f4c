/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gmres.c - an implicit step by restarted GMRES: the nth iteration orthogonalises against n
 * vectors, with a sum for each. */
#include "textbook.h"

static void multiply(double* u) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Sendrecv(&u[0], 1, MPI_DOUBLE, next, 0, &u[1], 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  u[0] = work(2);
}

static void cycle(double* u) {
  for (int n = 1; n <= 6; ++n) {
    multiply(u);
    for (int i = 0; i < n; ++i) u[0] += sum_over_ranks(u[0]);
    u[0] /= sum_over_ranks(u[0] * u[0]);
  }
}

int main(int argc, char** argv) {
  begin(argc, argv);
  double u[2] = {1, 1};
  for (int step = 0; step < n_steps; ++step) {
    u[0] = work(5);
    cycle(u);
    if (step % 3 == 0) cycle(u);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
