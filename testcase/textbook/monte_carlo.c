/* SPDX-License-Identifier: BSD-3-Clause
 *
 * monte_carlo.c - batches of samples: rank 0 gets the sums of each and tells all whether they
 * suffice. */
#include "textbook.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  double mine, all = 0;
  for (int batch = 0, go_on = 1; go_on; ++batch) {
    mine = work(20);
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) go_on = batch + 1 < n_steps;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
