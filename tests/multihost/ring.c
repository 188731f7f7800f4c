// SPDX-License-Identifier: BSD-3-Clause
//
// ring.c - in each of five steps, every rank sends 1000 bytes to the next rank.
#include <mpi.h>

#include "perfield.h"

int main(int argc, char** argv) {
  static char out[1000], in[1000];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const perfield_region exchange = perfield_region_define("exchange", __FILE__, __LINE__);
  perfield_initialize();
  for (int step = 1; step <= 5; step++) {
    perfield_region_begin(exchange);
    MPI_Sendrecv(out, 1000, MPI_CHAR, (rank + 1) % size, 0, in, 1000, MPI_CHAR,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    perfield_region_end(exchange);
    perfield_step(step, step * 0.1);
  }
  MPI_Finalize();
  return 0;
}
