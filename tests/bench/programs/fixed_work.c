/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fixed_work.c - steps of the same arithmetic on each rank, about 5 ms each, without messages
 * between them. Rank 0 prints the CPU time of all ranks in these steps (s), and its wall time (s).
 */
#include <mpi.h>
#include <perfield.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { kPoints = 20 };

static double cpu_s(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_utime.tv_sec + used.ru_stime.tv_sec +
         1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(int argc, char** argv) {
  static double field[kPoints * kPoints * kPoints];
  const int steps = argc > 1 ? atoi(argv[1]) : 500;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int64_t extent[6] = {(kPoints - 1) * rank, (kPoints - 1) * (rank + 1), 0, kPoints - 1, 0,
                       kPoints - 1};
  double origin[3] = {0, 0, 0}, spacing[3] = {1, 1, 1}, sum = 0;
  perfield_mesh_image(0, extent, origin, spacing);
  perfield_field(0, "field", PERFIELD_POINTS,
                 perfield_array_of(field, PERFIELD_FLOAT64, 1, kPoints * kPoints * kPoints));
  perfield_initialize();
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin_s = MPI_Wtime(), before_s = cpu_s();
  for (int step = 0; step < steps; step++) {
    for (int i = 0; i < 5000000; i++) sum += 1.0 / (i + 1.0);
    field[0] = sum;
    perfield_step(step, step);
  }
  double mine = cpu_s() - before_s, all = 0;
  const double wall_s = MPI_Wtime() - begin_s;
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%g %g\n", all, wall_s);
  MPI_Finalize();
  return 0;
}
