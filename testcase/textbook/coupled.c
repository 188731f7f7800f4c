/* SPDX-License-Identifier: BSD-3-Clause
 *
 * coupled.c - an ocean and an atmosphere: each half of the ranks has a loop of its own, with two
 * and five sums per step, and they exchange at the end of each. */
#include "textbook.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  const int half = size / 2, is_ocean = rank < half;
  double mine = 1, all;
  MPI_Comm own;
  MPI_Comm_split(MPI_COMM_WORLD, is_ocean, rank, &own);
  for (int step = 0; step < n_steps; ++step) {
    for (int i = 0; i < (is_ocean ? 2 : 5); ++i) {
      if (i < 2) mine = work(10);
      MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, own);
    }
    const int other = is_ocean ? rank + half : rank - half;
    if (other < size)
      MPI_Sendrecv(&mine, 1, MPI_DOUBLE, other, 0, &all, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
}
