/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sph.c - smoothed particles: neighbours send lists whose length the receiver probes, then the
 * stable time step. */
#include "textbook.h"

enum { MOST = 256 };

static void exchange(int step) {
  static double out[MOST], in[MOST];
  MPI_Request requests[2];
  for (int way = 0; way < 2; ++way) {
    const int to = (rank + (way ? 1 : size - 1)) % size, n = 1 + (31 * rank + 7 * step) % MOST;
    MPI_Isend(out, n, MPI_DOUBLE, to, way, MPI_COMM_WORLD, &requests[way]);
  }
  for (int way = 0; way < 2; ++way) {
    MPI_Status status;
    int n;
    MPI_Probe(MPI_ANY_SOURCE, way, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &n);
    MPI_Recv(in, n, MPI_DOUBLE, status.MPI_SOURCE, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  double dt, mine;
  for (int step = 0; step < n_steps; ++step) {
    exchange(step);
    mine = work(10); /* density */
    exchange(step);
    mine += work(10); /* forces */
    MPI_Allreduce(&mine, &dt, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
