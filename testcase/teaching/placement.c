// SPDX-License-Identifier: BSD-3-Clause
//
// Two ranks compute all the time, equally much, and swap a number after each step. Nothing in this
// program is wrong: what costs time is where its ranks sit. It prints how long a step took.
#include <math.h>
#include <mpi.h>
#include <perfield.h>
#include <stdio.h>

enum { STEPS = 60, TERMS = 1000000 };

// A sum that keeps a core busy for some 10 to 20 ms.
static double compute(double start) {
  double sum = start;
  for (int term = 1; term <= TERMS; ++term) sum += 1 / sqrt(sum + term);
  return sum;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size, last = (rank + size - 1) % size;
  perfield_region solve = perfield_region_define("solve", __FILE__, __LINE__);
  perfield_initialize();  // setup ends, the first step begins

  double mine = 1, theirs = 0, begin = MPI_Wtime();
  for (int step = 0; step < STEPS; ++step) {
    perfield_region_begin(solve);
    mine = compute(mine + theirs * 1e-9);
    perfield_region_end(solve);
    MPI_Sendrecv(&mine, 1, MPI_DOUBLE, next, 0, &theirs, 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    perfield_step(step, step * 0.1);
  }
  if (rank == 0) printf("placement: %.1f ms per step\n", (MPI_Wtime() - begin) / STEPS * 1e3);
  MPI_Finalize();
}
