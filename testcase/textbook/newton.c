/* SPDX-License-Identifier: BSD-3-Clause
 *
 * newton.c - a nonlinear step: two to four Newton iterations, each with a linear solver of its own
 * that sums in every iteration. */
#include "textbook.h"

static double residual(double* u) {
  u[0] = work(3);
  return sum_over_ranks(u[0]);
}

static void solve_linear(double* u, int iterations) {
  for (int i = 0; i < iterations; ++i) {
    u[0] = work(1);
    u[1] = sum_over_ranks(u[0]);
  }
}

int main(int argc, char** argv) {
  begin(argc, argv);
  double u[2] = {1, 1}, dt = 1;
  for (int step = 0; step < n_steps; ++step) {
    const int iterations = 2 + step % 3;
    for (int i = 0; i < iterations && residual(u) >= 0; ++i) solve_linear(u, 4 + 2 * i);
    MPI_Allreduce(&u[0], &dt, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
