/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nbody.c - bodies go once around the ring of ranks in each step; then their energy. */
#include "textbook.h"

enum { N = 256 };

int main(int argc, char** argv) {
  static double bodies[N];
  begin(argc, argv);
  for (int step = 0; step < n_steps; ++step) {
    for (int shift = 0; shift < size; ++shift) {
      bodies[0] = work(6);
      MPI_Sendrecv_replace(bodies, N, MPI_DOUBLE, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    sum_over_ranks(bodies[0]);
  }
  MPI_Finalize();
}
