// SPDX-License-Identifier: BSD-3-Clause
//
// halo.c - halo STEPS: in each step two ranks of one machine exchange eight numbers, then compute
// until the same moment, which the numbers name. Without it a lead of one rank would stay for ever:
// it waits for the latency plus its lead, and the other for the latency less it.
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "perfield.h"

static double now_s(void) {  // MPI_Wtime has an origin of its own in each rank
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  double out[8] = {0}, in[8];
  const int n_steps = argc > 1 ? atoi(argv[1]) : 100;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  perfield_initialize();
  for (int step = 0; step < n_steps; step++) {
    MPI_Request requests[2];
    out[0] = now_s() + 2.5e-3;
    MPI_Irecv(in, 8, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 8, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    const double until = in[0] > out[0] ? in[0] : out[0];
    while (now_s() < until) out[1] += 1;
    perfield_step(step, step);
  }
  MPI_Finalize();
  return 0;
}
