/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fdtd.c - Maxwell's equations: a halo before E and before H; each 20th step rank 0 gathers a slice
 * and writes it. */
#include <stdio.h>

#include "textbook.h"

static void halo(double* u, int way) {
  const int to = (rank + size + way) % size, from = (rank + size - way) % size;
  MPI_Sendrecv(&u[0], 1, MPI_DOUBLE, to, 0, &u[1], 1, MPI_DOUBLE, from, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void write_slice(const double* u, FILE* file) {
  double all[1024];
  MPI_Gather(u, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int r = 0; rank == 0 && r < size; ++r) fprintf(file, "%g\n", all[r]);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  double electric[2] = {1, 1}, magnetic[2] = {1, 1};
  FILE* file = rank == 0 ? fopen("slices.txt", "w") : NULL;
  for (int step = 0; step < n_steps; ++step) {
    halo(magnetic, 1);
    electric[0] = work(10);
    halo(electric, -1);
    magnetic[0] = work(10);
    if (step % 20 == 0) write_slice(electric, file);
  }
  if (file) fclose(file);
  MPI_Finalize();
}
