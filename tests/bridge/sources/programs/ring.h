/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ring.h - shared by the test programs: the communicator that the first argument names, and this
 * rank's neighbours in it. `world`, or `reversed`, where world rank w has rank size - 1 - w. */
#pragma once
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of each, also in a program of many files. */
__attribute__((weak)) MPI_Comm comm;
__attribute__((weak)) int rank, size, left, right;

static inline void choose(const char* order) {
  int world_rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  comm = MPI_COMM_WORLD;
  if (strcmp(order, "reversed") == 0) MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
}

static inline void leave(void) {
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
}

static inline void begin(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  choose(argc > 1 ? argv[1] : "world");
}

static inline void end(void) {
  leave();
  MPI_Finalize();
}
