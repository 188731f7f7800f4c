/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ring.c - forces between all bodies: the bodies of each rank travel round the ring, so a step has
 * as many shifts as ranks, and a sum of the energy. */
#include "textbook.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  double guests = 1, energy = 0;
  for (int step = 0; step < n_steps; ++step) {
    for (int shift = 0; shift < size; ++shift) {
      energy += work(5);
      MPI_Sendrecv_replace(&guests, 1, MPI_DOUBLE, next, 0, last, 0, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
    }
    sum_over_ranks(energy);
  }
  MPI_Finalize();
}
