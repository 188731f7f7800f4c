/* SPDX-License-Identifier: BSD-3-Clause
 *
 * steps.c - three steps; in step s (0, 1, 2) each rank sends s + 1 integers to its right neighbour
 * s + 1 times, sums one double over all ranks, and puts two doubles to its left neighbour. */
#include <perfield.h>

#include "ring.h"

int main(int argc, char** argv) {
  int out[8] = {0}, in[8];
  double sum, one = 1, two[2] = {0}, *memory;
  MPI_Request request;
  MPI_Win window;
  begin(argc, argv);
  MPI_Win_allocate(64, sizeof(double), MPI_INFO_NULL, comm, &memory, &window);
  perfield_step(-1, 0.0); /* ends the setup */
  for (int s = 0; s < 3; ++s) {
    for (int i = 0; i <= s; ++i) {
      MPI_Isend(out, s + 1, MPI_INT, right, 1, comm, &request);
      MPI_Recv(in, 8, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Win_fence(0, window);
    MPI_Put(two, 2, MPI_DOUBLE, left, 0, 2, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    perfield_step(s, 0.5 * s);
  }
  MPI_Win_free(&window);
  end();
  return 0;
}
