/* SPDX-License-Identifier: BSD-3-Clause
 *
 * adi.c - alternating directions: lines along x, a transpose, lines along y, and a transpose
 * back. */
#include "textbook.h"

static double u[1024], v[1024];

static void lines(double* x) { x[0] = work(10); }

static void transpose(double* from, double* to) {
  MPI_Alltoall(from, 4, MPI_DOUBLE, to, 4, MPI_DOUBLE, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  for (int step = 0; step < n_steps; ++step) {
    lines(u);
    transpose(u, v);
    lines(v);
    transpose(v, u);
  }
  MPI_Finalize();
}
