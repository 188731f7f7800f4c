/* SPDX-License-Identifier: BSD-3-Clause
 *
 * halo_1d.c - a rod: neighbours exchange their ends, and each step prints its residual. */
#include <stdio.h>

#include "textbook.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  const int left = rank ? rank - 1 : MPI_PROC_NULL,
            right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  double u[4] = {0, 1, 1, 0};
  for (int step = 0; step < n_steps; ++step) {
    MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, left, 0, &u[3], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&u[2], 1, MPI_DOUBLE, right, 1, &u[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    u[1] = work(20);
    const double residual = sum_over_ranks(u[1]);
    if (rank == 0 && step % 10 == 0) printf("%d %g\n", step, residual);
  }
  MPI_Finalize();
}
