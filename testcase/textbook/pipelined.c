/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pipelined.c - pipelined conjugate gradients: a sum is on its way while the halo and the product
 * are made. */
#include "textbook.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  double u[2] = {1, 1}, gamma = 1, all;
  for (int i = 0; i < n_steps; ++i) {
    MPI_Request sum, halo[2];
    MPI_Iallreduce(&gamma, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &sum);
    MPI_Irecv(&u[1], 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, &halo[0]);
    MPI_Isend(&u[0], 1, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, &halo[1]);
    const double inner = work(15);
    MPI_Waitall(2, halo, MPI_STATUSES_IGNORE);
    gamma = inner + work(5);
    MPI_Wait(&sum, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
}
