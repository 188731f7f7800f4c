// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks are in a row. In each step a rank works 20 ms, then swaps a number with both neighbours.
// Nothing else couples them. Once, in step 20, there are 400 ms of extra work: a table to sort.
//
//   idle_wave           rank 4 sorts the table alone
//   idle_wave shared    each rank sorts an equal part of it
//
// A rank sleeps in place of working, so it shows the same on any laptop.
#include <mpi.h>
#include <perfield.h>
#include <time.h>

enum { STEPS = 50, SORT_IN_STEP = 20, SORT_ON_RANK = 4 };

static void work(double ms) {
  struct timespec time = {0, (long)(ms * 1e6)};
  nanosleep(&time, NULL);
}

int main(int argc, char** argv) {
  int shared = argc > 1, rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  perfield_region solve = perfield_region_define("solve", __FILE__, __LINE__);
  perfield_region sort = perfield_region_define("sort", __FILE__, __LINE__);
  MPI_Barrier(MPI_COMM_WORLD);
  perfield_initialize();  // setup ends, the first step begins

  double mine = rank, from[2];
  for (int step = 0; step < STEPS; ++step) {
    perfield_region_begin(solve);
    work(20);
    perfield_region_end(solve);
    if (step == SORT_IN_STEP && (shared || rank == SORT_ON_RANK)) {
      perfield_region_begin(sort);
      work(shared ? 400.0 / size : 400.0);
      perfield_region_end(sort);
    }
    MPI_Request requests[4];
    MPI_Irecv(&from[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&from[1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&mine, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&mine, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    perfield_step(step, step * 0.1);
  }
  MPI_Finalize();
}
