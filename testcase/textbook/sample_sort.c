/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sample_sort.c - sorts batches: samples from all, splitters to all, counts, then the numbers
 * themselves. */
#include "textbook.h"

enum { KEYS = 64 };

int main(int argc, char** argv) {
  static double keys[KEYS], samples[256], sorted[KEYS * 64];
  int n_out[64], n_in[64], at_out[64], at_in[64];
  begin(argc, argv);
  for (int batch = 0; batch < n_steps; ++batch) {
    keys[0] = work(10);
    MPI_Gather(keys, 1, MPI_DOUBLE, samples, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(samples, size, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) {
      n_out[r] = 1 + (rank + r + batch) % (KEYS / size);
      at_out[r] = r ? at_out[r - 1] + n_out[r - 1] : 0;
    }
    MPI_Alltoall(n_out, 1, MPI_INT, n_in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) at_in[r] = r ? at_in[r - 1] + n_in[r - 1] : 0;
    MPI_Alltoallv(keys, n_out, at_out, MPI_DOUBLE, sorted, n_in, at_in, MPI_DOUBLE, MPI_COMM_WORLD);
    keys[1] = work(10);
  }
  MPI_Finalize();
}
