/* SPDX-License-Identifier: BSD-3-Clause
 *
 * amr.c - blocks that are refined anew each fifth step; a halo per block, as many as there are now.
 */
#include "textbook.h"

static void halo(int block) {
  double out = block, in;
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Sendrecv(&out, 1, MPI_DOUBLE, next, block, &in, 1, MPI_DOUBLE, last, block, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static int regrid(int step) {
  int mine = 2 + step / 5 % 3, all[1024];
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  work(5);
  MPI_Barrier(MPI_COMM_WORLD);
  return all[0];
}

int main(int argc, char** argv) {
  begin(argc, argv);
  int blocks = 2;
  for (int step = 0; step < n_steps; ++step) {
    if (step % 5 == 0) blocks = regrid(step);
    double dt, mine = work(2);
    MPI_Allreduce(&mine, &dt, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    for (int block = 0; block < blocks; ++block) {
      halo(block);
      work(6);
    }
  }
  MPI_Finalize();
}
