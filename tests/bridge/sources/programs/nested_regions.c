/* Five steps of nested functions; with an argument, calls are armed at some places and not at
 * others. SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>

#include "perfield.h"

static int arms = 0;

__attribute__((noinline)) static void flux(void) {
  const double end = MPI_Wtime() + 1e-3;
  while (MPI_Wtime() < end) continue;
}

__attribute__((noinline)) static void flux_edge(void) {
  flux();
  if (arms) perfield_pipeline_next();
  flux();
}

__attribute__((noinline)) static void time_step(void) {
  flux_edge();
  if (arms) perfield_pipeline_next();
  flux_edge();
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  arms = argc > 1;
  MPI_Init(&argc, &argv);
  for (int step = 0; step < 5; ++step) time_step();
  MPI_Finalize();
  return 0;
}
