// SPDX-License-Identifier: BSD-3-Clause
//
// pause.c SECONDS - a rank that does nothing for a while; rank 0 prints how long MPI_Init and
// MPI_Finalize took.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  int rank;
  const double begin = now();
  MPI_Init(&argc, &argv);
  const double started = now();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  usleep((useconds_t)(atof(argc > 1 ? argv[1] : "0") * 1e6));
  const double worked = now();
  MPI_Finalize();
  if (rank == 0) printf("init %.6f finalize %.6f\n", started - begin, now() - worked);
  return 0;
}
