/* SPDX-License-Identifier: BSD-3-Clause
 *
 * particles.c - particles move to other ranks, in numbers that vary; the energy each tenth step. */
#include "textbook.h"

enum { MOST = 64 };

int main(int argc, char** argv) {
  static double out[MOST * 64], in[MOST * 64 * 2];
  int n_out[64], n_in[64], at_out[64], at_in[64];
  begin(argc, argv);
  for (int step = 0; step < n_steps; ++step) {
    out[0] = work(20);
    for (int r = 0, at = 0; r < size; at += n_out[r++]) {
      n_out[r] = (7 * rank + 3 * r + step) % MOST;
      at_out[r] = at;
    }
    MPI_Alltoall(n_out, 1, MPI_INT, n_in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0, at = 0; r < size; at += n_in[r++]) at_in[r] = at;
    MPI_Alltoallv(out, n_out, at_out, MPI_DOUBLE, in, n_in, at_in, MPI_DOUBLE, MPI_COMM_WORLD);
    if (step % 10 == 0) sum_over_ranks(in[0]);
  }
  MPI_Finalize();
}
