// SPDX-License-Identifier: BSD-3-Clause
//
// multipartition.c - the messages of a solver on a multi-partitioned cube, without its numerics:
// q * q ranks each own q cells along a diagonal, so every rank has work at every stage of a sweep
// along x, y or z. Partners are the next rank along x, along y, and for z the diagonal one. Forward
// sweeps carry 5 x 5 blocks and right-hand sides, backward sweeps only solutions. At intervals all
// ranks write their cells into one file. A message contains only its sender's rank.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef WITHOUT_PERFIELD
#define MEASURED(call)
#else
#include <perfield.h>
#define MEASURED(call) call
#endif

enum { variables = 5, forward = 5 * 5 + 5, backward = 5 };

static int q, side;             // ranks along x and y; points of a cell along x, y, z
static int above[3], below[3];  // partners for sweeps along x, y, z
static double sum, *outgoing, *incoming;

static int rank_at(int x, int y) { return (x + q) % q + (y + q) % q * q; }

static void find_partners(int rank) {
  const int x = rank % q, y = rank / q;
  above[0] = rank_at(x + 1, y), below[0] = rank_at(x - 1, y);
  above[1] = rank_at(x, y + 1), below[1] = rank_at(x, y - 1);
  above[2] = rank_at(x - 1, y + 1), below[2] = rank_at(x + 1, y - 1);  // see show_mesh
}

static void take(const double* numbers, int n) {
  double all = 0;
  for (int i = 0; i < n; i++) all += numbers[i];
  sum += all / n;
}

// Sends the faces of all cells, two points deep, to all six partners at once.
static void copy_faces(void) {
  const int n = (q - 1) * side * side * 2 * variables;
  MPI_Request requests[12];
  for (int d = 0; d < 3; d++) {
    MPI_Irecv(incoming + 2 * d * n, n, MPI_DOUBLE, below[d], d, MPI_COMM_WORLD, &requests[2 * d]);
    MPI_Irecv(incoming + (2 * d + 1) * n, n, MPI_DOUBLE, above[d], 3 + d, MPI_COMM_WORLD,
              &requests[2 * d + 1]);
  }
  for (int d = 0; d < 3; d++) {
    MPI_Isend(outgoing, n, MPI_DOUBLE, above[d], d, MPI_COMM_WORLD, &requests[6 + 2 * d]);
    MPI_Isend(outgoing, n, MPI_DOUBLE, below[d], 3 + d, MPI_COMM_WORLD, &requests[7 + 2 * d]);
  }
  MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 6; i++) take(incoming + i * n, n);
}

// One cell per stage: sends what the next stage needs to one partner, and receives it from the
// other.
static void sweep(int from, int to, int numbers, int tag) {
  const int n = side * side * numbers;
  for (int stage = 1; stage < q; stage++) {
    MPI_Request request;
    MPI_Isend(outgoing, n, MPI_DOUBLE, to, tag, MPI_COMM_WORLD, &request);
    MPI_Recv(incoming, n, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    take(incoming, n);
  }
}

static void step_once(void) {
  copy_faces();
  for (int d = 0; d < 3; d++) {
    sweep(below[d], above[d], forward, 6 + d);
    sweep(above[d], below[d], backward, 9 + d);
  }
}

// Each rank's cells are contiguous in the file, after those of lower ranks and of earlier times.
static void write_cells(MPI_File file, int time, int rank) {
  const int n = q * side * side * side * variables;
  const MPI_Offset part = (MPI_Offset)time * q * q + rank;
  MPI_File_write_at_all(file, part * n * sizeof(double), outgoing, n, MPI_DOUBLE,
                        MPI_STATUS_IGNORE);
}

#ifndef WITHOUT_PERFIELD
// Cell k of the rank at (x, y) is the cell at (x + k, y - k, k) of the cube's q * q * q cells.
static void show_mesh(int rank) {
  const double origin[3] = {0, 0, 0}, spacing[3] = {1, 1, 1};
  for (int k = 0; k < q; k++) {
    const int cell[3] = {(rank % q + k) % q, (rank / q - k + q) % q, k};
    int64_t extent[6];
    for (int d = 0; d < 3; d++) {
      extent[2 * d] = cell[d] * side;
      extent[2 * d + 1] = extent[2 * d] + side;
    }
    perfield_mesh_image(k, extent, origin, spacing);
  }
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, n_ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  const int steps = argc > 1 ? atoi(argv[1]) : 4, size = argc > 2 ? atoi(argv[2]) : 12;
  const int write_every = argc > 3 ? atoi(argv[3]) : 2;
  while ((q + 1) * (q + 1) <= n_ranks) q++;
  if (q * q != n_ranks || q < 2 || size < q || size % q != 0 || write_every < 1) {
    if (rank == 0)
      fprintf(stderr,
              "multipartition STEPS SIZE WRITE_EVERY: %d ranks and %d points; ranks must be "
              "a square of two or more, points a multiple of its root.\n",
              n_ranks, size);
    MPI_Finalize();
    return 1;
  }
  side = size / q;
  find_partners(rank);
  const size_t most = (size_t)6 * q * side * side * side * 2 * variables;
  outgoing = malloc(most * sizeof(double));
  incoming = malloc(most * sizeof(double));
  for (size_t i = 0; i < most; i++) outgoing[i] = rank;
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "multipartition.out", MPI_MODE_CREATE | MPI_MODE_WRONLY,
                MPI_INFO_NULL, &file);

  MEASURED(const perfield_region region = perfield_region_define("adi", __FILE__, __LINE__));
  MEASURED(show_mesh(rank));
  MEASURED(perfield_initialize());
  for (int step = 1; step <= steps; step++) {
    MEASURED(perfield_region_begin(region));
    sum = 0;
    step_once();
    MEASURED(perfield_region_end(region));
    if (step % write_every == 0) write_cells(file, step / write_every - 1, rank);
    MEASURED(perfield_step(step, step));
  }
  MPI_File_close(&file);
  double total;
  MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d steps on %d x %d ranks, sum %.0f\n", steps, q, q, total);
  free(outgoing);
  free(incoming);
  MPI_Finalize();
}
