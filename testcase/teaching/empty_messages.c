// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks are in a row, and each has values for its neighbours only. But the author of the exchange
// took all ranks for partners.
//
//   empty_messages         each rank sends to all others: to most of them a message without bytes
//   empty_messages skip    sends to a rank only if there are values for it, and receives likewise
#include <mpi.h>
#include <perfield.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STEPS = 50, VALUES = 100 };

// How many values one rank has for another: both sides know it.
static int values_between(int one, int other) { return abs(one - other) == 1 ? VALUES : 0; }

int main(int argc, char** argv) {
  int skip = argc > 1, rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  perfield_region exchange = perfield_region_define("exchange", __FILE__, __LINE__);
  perfield_initialize();  // setup ends, the first step begins

  double mine[VALUES] = {0};
  double(*theirs)[VALUES] = malloc(size * sizeof *theirs);
  MPI_Request* requests = malloc(2 * size * sizeof *requests);
  for (int step = 0; step < STEPS; ++step) {
    nanosleep(&(struct timespec){0, 5000000}, NULL);  // in place of computing

    perfield_region_begin(exchange);
    int n = 0;
    for (int other = 0; other < size; ++other) {
      int count = values_between(rank, other);
      if (other == rank || (skip && count == 0)) continue;
      MPI_Irecv(theirs[other], count, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[n++]);
      MPI_Isend(mine, count, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[n++]);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    perfield_region_end(exchange);
    perfield_step(step, step * 0.1);
  }
  MPI_Finalize();
  free(requests);
  free(theirs);
}
