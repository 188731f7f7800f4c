/* SPDX-License-Identifier: BSD-3-Clause
 *
 * spectral.c - three stages of Runge and Kutta, each with a transform there and back; the energy of
 * each step. */
#include "textbook.h"

static double a[4096], b[4096];

static void transpose(void) {
  const int n = 4096 / size;
  MPI_Alltoall(a, n, MPI_DOUBLE, b, n, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void transform(void) {
  a[0] = work(3);
  transpose();
  a[0] = work(3);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  for (int step = 0; step < n_steps; ++step) {
    for (int stage = 0; stage < 3; ++stage) {
      transform();
      a[0] = work(1);
      transform();
    }
    sum_over_ranks(a[0]);
  }
  MPI_Finalize();
}
