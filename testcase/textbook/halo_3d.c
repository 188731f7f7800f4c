/* SPDX-License-Identifier: BSD-3-Clause
 *
 * halo_3d.c - blocks of a periodic box: six faces per step by nonblocking messages, and the
 * residual at each tenth. */
#include "textbook.h"

static MPI_Comm grid;

static void exchange(double* u) {
  MPI_Request requests[12];
  for (int way = 0, n = 0; way < 6; ++way) {
    int from, to;
    MPI_Cart_shift(grid, way / 2, way % 2 ? 1 : -1, &from, &to);
    MPI_Irecv(&u[6 + way], 1, MPI_DOUBLE, from, way, grid, &requests[n++]);
    MPI_Isend(&u[way], 1, MPI_DOUBLE, to, way, grid, &requests[n++]);
  }
  MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  int blocks[3] = {0, 0, 0}, periods[3] = {1, 1, 1};
  double u[12] = {1};
  MPI_Dims_create(size, 3, blocks);
  MPI_Cart_create(MPI_COMM_WORLD, 3, blocks, periods, 0, &grid);
  for (int step = 0; step < n_steps; ++step) {
    exchange(u);
    u[0] = work(20);
    if (step % 10 == 0) sum_over_ranks(u[0]);
  }
  MPI_Finalize();
}
