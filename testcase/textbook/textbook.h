/* SPDX-License-Identifier: BSD-3-Clause
 *
 * textbook.h - what the programs of this folder share: their options, and work that takes time.
 *   mpirun -n 4 ./PROGRAM STEPS [SLOW TIMES [TURN | log]]
 * SLOW: a rank that works TIMES as long as the others in each step; after TURN units of work, the
 * next rank does instead. log: it spends the difference in writing a log. */
#pragma once
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int n_steps, slow = -1, rank, size, log_file = -1;
static double times = 1, turn = 0;

static void begin(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  n_steps = argc > 1 ? atoi(argv[1]) : 40;
  if (argc > 3) {
    slow = atoi(argv[2]);
    times = atof(argv[3]);
  }
  if (argc > 4 && strcmp(argv[4], "log") != 0) turn = atof(argv[4]);
  if (argc > 4 && turn == 0 && rank == slow)
    log_file = open("log.txt", O_CREAT | O_WRONLY | O_TRUNC | O_SYNC, 0644);
}

static void nap(double s) {
  struct timespec left = {(time_t)s, (long)((s - (time_t)s) * 1e9)};
  while (nanosleep(&left, &left)) {
  }
}

static void write_log(double s) {
  const char line[] = "residual 1e-3, as far as anybody knows\n";
  for (const double end = MPI_Wtime() + s; MPI_Wtime() < end; nap(1e-5))
    if (write(log_file, line, sizeof line - 1) < 0) return;
}

/* Takes a tenth of a millisecond for each unit: sleeps where a solver would compute, so that ranks
 * may outnumber cores. A step has about 20 units. */
static double work(double units) {
  static double done;
  const double s = 1e-4 * units;
  const int is_slow = slow >= 0 && rank == (slow + (turn > 0 ? (int)(done / turn) : 0)) % size;
  done += units;
  nap(is_slow && log_file < 0 ? s * times : s);
  if (log_file >= 0) write_log(s * (times - 1));
  return s;
}

static inline double sum_over_ranks(double mine) {
  double all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}
