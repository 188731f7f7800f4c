// SPDX-License-Identifier: BSD-3-Clause
//
// ranks.c - a rank on a line: `ranks STEPS REGIONS` enters regions, exchanges messages with three
// ranks on either side, and closes steps.
#include <mpi.h>
#include <perfield.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 10, n_regions = argc > 2 ? atoi(argv[2]) : 10;
  perfield_region regions[256];
  char name[32], out[6][4096] = {0}, in[6][4096];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int n = 0; n < n_regions; ++n) {
    snprintf(name, sizeof name, "region %d", n);
    regions[n] = perfield_region_define(name, __FILE__, __LINE__);
  }
  for (int step = 0; step < steps; ++step) {
    for (int n = 0; n < n_regions; ++n) {
      perfield_region_begin(regions[n]);
      for (volatile int i = 0; i < 200; ++i) {
      }
      perfield_region_end(regions[n]);
    }
    MPI_Request requests[12];
    int n_requests = 0;
    for (int n = 0; n < 6; ++n) {
      const int peer = rank + (n < 3 ? n - 3 : n - 2);
      if (peer < 0 || peer >= size) continue;
      MPI_Irecv(in[n], 4096, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &requests[n_requests++]);
      MPI_Isend(out[n], 4096, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &requests[n_requests++]);
    }
    MPI_Waitall(n_requests, requests, MPI_STATUSES_IGNORE);
    perfield_step(step, step);
  }
  MPI_Finalize();
  return 0;
}
