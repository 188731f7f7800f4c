/* SPDX-License-Identifier: BSD-3-Clause
 *
 * in_process.c - ten steps on 1,000,000 points per rank. Rank 0 prints maxima over all ranks:
 * resident, proportional and private memory (MB), the time of the first perfield_step (s), the
 * median time of the later ones (ms). Then it prints the smallest resident memory (MB).
 */
#include <mpi.h>
#include <perfield.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSteps = 10, kPoints = 100 };

static double kilobytes(const char* key) {
  char line[256];
  double sum = 0;
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, key, strlen(key))) sum += atof(strchr(line, ':') + 1);
  if (file) fclose(file);
  return sum;
}

static int rising(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  static double field[kPoints * kPoints * kPoints];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int64_t extent[6] = {(kPoints - 1) * rank, (kPoints - 1) * (rank + 1), 0, kPoints - 1, 0,
                       kPoints - 1};
  double origin[3] = {0, 0, 0}, spacing[3] = {1, 1, 1}, times[kSteps];
  memset(field, 1, sizeof field);
  perfield_mesh_image(0, extent, origin, spacing);
  perfield_field(0, "field", PERFIELD_POINTS,
                 perfield_array_of(field, PERFIELD_FLOAT64, 1, kPoints * kPoints * kPoints));
  perfield_region region = perfield_region_define("solve", __FILE__, __LINE__);
  perfield_initialize();
  for (int step = 0; step < kSteps; step++) {
    perfield_region_begin(region);
    perfield_region_end(region);
    MPI_Barrier(MPI_COMM_WORLD);
    times[step] = -MPI_Wtime();
    perfield_step(step, step);
    times[step] += MPI_Wtime();
  }
  qsort(times + 1, kSteps - 1, sizeof *times, rising);
  double mine[5] = {kilobytes("Rss:") / 1e3, kilobytes("Pss:") / 1e3, kilobytes("Private_") / 1e3,
                    times[0], times[kSteps / 2] * 1e3};
  double most[6];
  MPI_Reduce(mine, most, 5, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(mine, most + 5, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0)
    for (int i = 0; i < 6; i++) printf("%g ", most[i]);
  MPI_Finalize();
  return 0;
}
