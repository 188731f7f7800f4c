// SPDX-License-Identifier: BSD-3-Clause
//
// multigrid.c - the messages of a multigrid solver without its numerics: a periodic cube and nested
// levels with half the points along each direction. From the third level on, every second rank of
// the level before holds a level. Each cycle computes a norm over all ranks. A message contains
// only its sender's rank; the norm adds up what arrives.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef WITHOUT_PERFIELD
#define MEASURED(call)
#else
#include <perfield.h>
#define MEASURED(call) call
#endif

enum { max_levels = 30 };

// A level, divided among the ranks that hold it.
struct level {
  MPI_Comm ranks;  // as a periodic box; MPI_COMM_NULL if this rank is not in it
  int dims[3];     // ranks along x, y, z
  int block[3];    // points of a rank along x, y, z
};

static struct level levels[max_levels];
static int n_levels;
static double norm, *outgoing, *incoming;

static void take(int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += incoming[i];
  norm += sum / n;
}

// Along x, then y, then z: a face to the rank above, then one to the rank below.
static void exchange(const struct level* level) {
  for (int d = 0; d < 3; d++) {
    if (level->dims[d] == 1) continue;  // this rank is its own neighbour
    const int face = level->block[(d + 1) % 3] * level->block[(d + 2) % 3];
    int below, above;
    MPI_Cart_shift(level->ranks, d, 1, &below, &above);
    const int ends[2] = {below, above};
    for (int way = 0; way < 2; way++) {
      MPI_Request request;
      MPI_Irecv(incoming, face, MPI_DOUBLE, ends[way], way, level->ranks, &request);
      MPI_Send(outgoing, face, MPI_DOUBLE, ends[1 - way], way, level->ranks);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      take(face);
    }
  }
}

static void cycle(int l);

// Every second rank takes its neighbour's half of the next block, and returns it afterwards.
static void cycle_on_half_the_ranks(int l) {
  const MPI_Comm ranks = levels[l].ranks;
  const int* block = levels[l + 1].block;
  const int half = block[0] * block[1] * block[2] / 2;
  int rank;
  MPI_Comm_rank(ranks, &rank);
  if (rank % 2 == 1) {
    MPI_Send(outgoing, half, MPI_DOUBLE, rank - 1, 2, ranks);
    MPI_Recv(incoming, half, MPI_DOUBLE, rank - 1, 3, ranks, MPI_STATUS_IGNORE);
    take(half);
  } else {
    MPI_Recv(incoming, half, MPI_DOUBLE, rank + 1, 2, ranks, MPI_STATUS_IGNORE);
    take(half);
    cycle(l + 1);
    MPI_Send(outgoing, half, MPI_DOUBLE, rank + 1, 3, ranks);
  }
}

// From level l down to the coarsest one and back up.
static void cycle(int l) {
  exchange(&levels[l]);
  if (l + 1 == n_levels) return;
  if (levels[l + 1].ranks == levels[l].ranks)
    cycle(l + 1);
  else
    cycle_on_half_the_ranks(l);
  exchange(&levels[l]);
}

// Every second rank of this box: half as many along the last direction that has several.
static MPI_Comm half_of(MPI_Comm ranks, int dims[3]) {
  const int periodic[3] = {1, 1, 1};
  int d = 2, rank;
  while (dims[d] == 1) d--;
  dims[d] /= 2;
  if (ranks == MPI_COMM_NULL) return ranks;
  MPI_Comm half, box = MPI_COMM_NULL;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_split(ranks, rank % 2 ? MPI_UNDEFINED : 0, rank, &half);
  if (half != MPI_COMM_NULL) MPI_Cart_create(half, 3, dims, periodic, 0, &box);
  return box;
}

static void make_levels(int n_ranks, int size) {
  const int periodic[3] = {1, 1, 1};
  int dims[3] = {0, 0, 0};
  MPI_Comm ranks;
  MPI_Dims_create(n_ranks, 3, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periodic, 0, &ranks);
  for (int points = size; points > 1 && points >= dims[0]; points /= 2) {
    if (n_levels > 1) {
      if (dims[0] == 1) break;
      ranks = half_of(ranks, dims);
    }
    struct level* level = &levels[n_levels++];
    level->ranks = ranks;
    for (int d = 0; d < 3; d++) {
      level->dims[d] = dims[d];
      level->block[d] = points / dims[d];
    }
  }
}

#ifndef WITHOUT_PERFIELD
static void show_mesh(void) {
  int64_t extent[6];
  const double origin[3] = {0, 0, 0}, spacing[3] = {1, 1, 1};
  int rank, place[3];
  MPI_Comm_rank(levels[0].ranks, &rank);
  MPI_Cart_coords(levels[0].ranks, rank, 3, place);
  for (int d = 0; d < 3; d++) {
    extent[2 * d] = place[d] * levels[0].block[d];
    extent[2 * d + 1] = extent[2 * d] + levels[0].block[d];
  }
  perfield_mesh_image(0, extent, origin, spacing);
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, n_ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  const int steps = argc > 1 ? atoi(argv[1]) : 4, size = argc > 2 ? atoi(argv[2]) : 16;
  if ((n_ranks & (n_ranks - 1)) != 0 || size < n_ranks || (size & (size - 1)) != 0) {
    if (rank == 0)
      fprintf(stderr,
              "multigrid STEPS SIZE: %d ranks and %d points; both must be powers of two, "
              "with at least as many points as ranks.\n",
              n_ranks, size);
    MPI_Finalize();
    return 1;
  }
  make_levels(n_ranks, size);
  const size_t most = (size_t)size * size * size;
  outgoing = malloc(most * sizeof(double));
  incoming = malloc(most * sizeof(double));
  for (size_t i = 0; i < most; i++) outgoing[i] = rank;

  MEASURED(const perfield_region region = perfield_region_define("cycle", __FILE__, __LINE__));
  MEASURED(show_mesh());
  MEASURED(perfield_initialize());
  for (int step = 1; step <= steps; step++) {
    MEASURED(perfield_region_begin(region));
    norm = 0;
    cycle(0);
    MEASURED(perfield_region_end(region));
    MPI_Allreduce(MPI_IN_PLACE, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MEASURED(perfield_step(step, step));
  }
  if (rank == 0) printf("%d cycles on %d levels, norm %.0f\n", steps, n_levels, norm);
  free(outgoing);
  free(incoming);
  MPI_Finalize();
}
