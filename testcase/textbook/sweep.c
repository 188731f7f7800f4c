/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sweep.c - a wavefront runs over the ranks in blocks, there and back, as in LU and discrete
 * ordinates. */
#include "textbook.h"

static void sweep(int from, int to) {
  double edge = 0;
  for (int block = 0; block < 8; ++block) {
    if (from >= 0 && from < size)
      MPI_Recv(&edge, 1, MPI_DOUBLE, from, block, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    edge = work(2);
    if (to >= 0 && to < size) MPI_Send(&edge, 1, MPI_DOUBLE, to, block, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  begin(argc, argv);
  for (int step = 0; step < n_steps; ++step) {
    sweep(rank - 1, rank + 1);
    sweep(rank + 1, rank - 1);
  }
  sum_over_ranks(1);
  MPI_Finalize();
}
