// SPDX-License-Identifier: BSD-3-Clause
//
// scattered.c - in each of five steps, every rank sends to its two neighbours on a ring that visits
// the ranks in strides of five; each link of the ring has its own size. The number of ranks must
// have no factor five.
#include <mpi.h>

#include "perfield.h"

int main(int argc, char** argv) {
  static char out[65536], in[65536];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int place = 0;  // on the ring
  while (place * 5 % size != rank) place++;
  const int next = (place + 1) * 5 % size, last = (place + size - 1) * 5 % size;
  const int to_next = 1000 + 100 * place, from_last = 1000 + 100 * ((place + size - 1) % size);
  perfield_initialize();
  for (int step = 0; step < 5; step++) {
    MPI_Request received;
    MPI_Irecv(in, from_last, MPI_CHAR, last, 0, MPI_COMM_WORLD, &received);
    MPI_Send(out, to_next, MPI_CHAR, next, 0, MPI_COMM_WORLD);
    MPI_Wait(&received, MPI_STATUS_IGNORE);
    MPI_Sendrecv(out, from_last, MPI_CHAR, last, 1, in, to_next, MPI_CHAR, next, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    perfield_step(step, step);
  }
  MPI_Finalize();
  return 0;
}
