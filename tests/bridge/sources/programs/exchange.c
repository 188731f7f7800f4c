/* SPDX-License-Identifier: BSD-3-Clause
 *
 * exchange.c - five exchanges around a ring and a sum after each; rank 0 prints the sum. With an
 * argument the program ends MPI twice. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, in[10] = {0}, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 5; ++i) {
    MPI_Request requests[2];
    int out[10] = {rank + i};
    MPI_Irecv(in, 10, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 2 + i, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("sum %d\n", sum);
  fflush(stdout);
  MPI_Finalize();
  if (argc > 1) MPI_Finalize();
  return 0;
}
