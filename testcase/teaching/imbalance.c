// SPDX-License-Identifier: BSD-3-Clause
//
// A plate of 40 columns is cut into strips, one for each of 4 ranks. In each step a rank computes
// its strip, then swaps its outermost columns with the ranks on its left and right.
//
//   imbalance         somebody cut badly: rank 1 got 22 columns, the others 6 each
//   imbalance even    each rank got 10 columns
//
// A rank sleeps 1 ms for each of its columns in place of computing, so any laptop shows the same.
#include <mpi.h>
#include <perfield.h>
#include <stdio.h>
#include <time.h>

enum { RANKS = 4, ROWS = 20, STEPS = 50 };

static void compute(int columns) {
  struct timespec time = {0, columns * 1000000L};
  nanosleep(&time, NULL);
}

int main(int argc, char** argv) {
  static const int uneven[RANKS] = {6, 22, 6, 6}, even[RANKS] = {10, 10, 10, 10};
  const int* columns = argc > 1 ? even : uneven;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != RANKS) {
    if (rank == 0) fprintf(stderr, "imbalance: expected %d ranks, found %d\n", RANKS, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

  // Say to perfield where this strip lies: its first and last column, row and layer of points.
  int first = 0;
  for (int other = 0; other < rank; ++other) first += columns[other];
  int64_t points[6] = {first, first + columns[rank], 0, ROWS, 0, 0};
  double origin[3] = {0, 0, 0}, spacing[3] = {1, 1, 1};
  perfield_mesh_image(0, points, origin, spacing);
  perfield_region sweep = perfield_region_define("sweep", __FILE__, __LINE__);
  perfield_region halo = perfield_region_define("halo", __FILE__, __LINE__);
  perfield_initialize();  // setup ends, the first step begins

  double mine[ROWS] = {0}, theirs[ROWS];
  for (int step = 0; step < STEPS; ++step) {
    perfield_region_begin(sweep);
    compute(columns[rank]);
    perfield_region_end(sweep);
    perfield_region_begin(halo);
    MPI_Request sends[2];
    MPI_Isend(mine, ROWS, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &sends[0]);
    MPI_Isend(mine, ROWS, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &sends[1]);
    MPI_Recv(theirs, ROWS, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(theirs, ROWS, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    perfield_region_end(halo);
    perfield_step(step, step * 0.1);
  }
  MPI_Finalize();
}
