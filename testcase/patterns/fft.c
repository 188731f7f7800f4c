// SPDX-License-Identifier: BSD-3-Clause
//
// fft.c - the messages of a Fourier transform of a cube, without its numerics: ranks form a grid
// and each owns a pencil. A transform turns the pencils twice, by an MPI_Alltoall among the ranks
// of a row, then among those of a column; no rank ever calls a send. Each step ends with a norm
// over all ranks. A message contains only its sender's rank; the norm adds up what arrives.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef WITHOUT_PERFIELD
#define MEASURED(call)
#else
#include <perfield.h>
#define MEASURED(call) call
#endif

static double norm, *outgoing, *incoming;

// Each rank gives every rank of the communicator an equal part of its pencil.
static void turn(MPI_Comm ranks, int points) {
  int size;
  MPI_Comm_size(ranks, &size);
  const int part = 2 * points / size;  // complex numbers
  MPI_Alltoall(outgoing, part, MPI_DOUBLE, incoming, part, MPI_DOUBLE, ranks);
  double sum = 0;
  for (int i = 0; i < part * size; i++) sum += incoming[i];
  norm += sum / (part * size);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int side = argc > 1 ? atoi(argv[1]) : 32;
  const int steps = argc > 2 ? atoi(argv[2]) : 10;
  int rank, n_ranks, dims[2] = {0, 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  MPI_Dims_create(n_ranks, 2, dims);
  const int points = side * side * side / n_ranks;
  if (side < 1 || steps < 1 || points < n_ranks) {
    if (rank == 0)
      fprintf(stderr, "usage: fft SIDE STEPS, with at least RANKS^2 points in SIDE^3\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm row, column;
  MPI_Comm_split(MPI_COMM_WORLD, rank / dims[1], rank, &row);
  MPI_Comm_split(MPI_COMM_WORLD, rank % dims[1], rank, &column);
  MPI_Comm_set_name(row, "rows");
  MPI_Comm_set_name(column, "columns");
  outgoing = malloc(2 * sizeof(double) * (size_t)points);
  incoming = malloc(2 * sizeof(double) * (size_t)points);
  for (int i = 0; i < 2 * points; i++) outgoing[i] = rank;

  for (int step = 0; step < steps; step++) {
    turn(row, points);
    turn(column, points);
    double all;
    MPI_Allreduce(&norm, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && step == steps - 1) printf("norm %.6f\n", all);
    MEASURED(perfield_step(step, step));
  }
  free(outgoing);
  free(incoming);
  MPI_Comm_free(&row);
  MPI_Comm_free(&column);
  MPI_Finalize();
  return 0;
}
