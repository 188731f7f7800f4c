/* SPDX-License-Identifier: BSD-3-Clause
 *
 * onesided.c - halos by MPI_Put between fences, and a sum in each step. */
#include "textbook.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  double u[3] = {1, 1, 1};
  MPI_Win window;
  MPI_Win_create(u, sizeof u, sizeof *u, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  for (int step = 0; step < n_steps; ++step) {
    const double mine = work(20);
    MPI_Put(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 1, 1, MPI_DOUBLE, window);
    MPI_Put(&mine, 1, MPI_DOUBLE, (rank + size - 1) % size, 2, 1, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    sum_over_ranks(mine);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
}
