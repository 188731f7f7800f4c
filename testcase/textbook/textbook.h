/* SPDX-License-Identifier: BSD-3-Clause
 *
 * textbook.h - what the programs of this folder share: their options, and work that takes time.
 *   mpirun -n 4 ./PROGRAM STEPS [SLOW TIMES]
 * SLOW: a rank that works TIMES as long as the others in each step. */
#pragma once
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static int n_steps, slow = -1, rank, size;
static double times = 1;

static void begin(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  n_steps = argc > 1 ? atoi(argv[1]) : 40;
  if (argc > 3) {
    slow = atoi(argv[2]);
    times = atof(argv[3]);
  }
}

/* Takes a tenth of a millisecond for each unit: sleeps where a solver would compute, so that ranks
 * may outnumber cores. */
static double work(double units) {
  const double s = 1e-4 * units * (rank == slow ? times : 1);
  struct timespec left = {(time_t)s, (long)((s - (time_t)s) * 1e9)};
  while (nanosleep(&left, &left)) {
  }
  return s;
}

static inline double sum_over_ranks(double mine) {
  double all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}
