/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ensemble.c - two members, each of half the ranks, with a solver of their own; all ranks meet at
 * the end of a cycle. */
#include "textbook.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  double mine = 1, all;
  MPI_Comm member;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &member);
  for (int cycle = 0; cycle < n_steps; ++cycle) {
    for (int i = 0; i < 6; ++i) {
      mine = work(3);
      MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, member);
    }
    sum_over_ranks(all);
    MPI_Bcast(&all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
