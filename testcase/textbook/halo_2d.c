/* SPDX-License-Identifier: BSD-3-Clause
 *
 * halo_2d.c - a plate on a Cartesian grid of ranks, whose edges travel without waiting; no
 * collective operation in the loop. */
#include "textbook.h"

enum { N = 64 };

int main(int argc, char** argv) {
  int dims[2] = {0, 0}, periods[2] = {0, 0}, peers[4];
  static double out[4][N], in[4][N];
  MPI_Comm grid;
  begin(argc, argv);
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Cart_shift(grid, 0, 1, &peers[0], &peers[1]);
  MPI_Cart_shift(grid, 1, 1, &peers[2], &peers[3]);
  for (int step = 0; step < n_steps; ++step) {
    MPI_Request requests[8];
    for (int side = 0; side < 4; ++side) {
      MPI_Irecv(in[side], N, MPI_DOUBLE, peers[side], side ^ 1, grid, &requests[side]);
      MPI_Isend(out[side], N, MPI_DOUBLE, peers[side], side, grid, &requests[4 + side]);
    }
    out[0][0] = work(15); /* inside, meanwhile */
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    out[1][0] = work(5);
  }
  MPI_Finalize();
}
