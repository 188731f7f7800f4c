/* SPDX-License-Identifier: BSD-3-Clause
 *
 * master.c - rank 0 hands out 20 tasks per worker and step; there are no steps that ranks have in
 * common. */
#include "textbook.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  int task = 0, left = 20 * n_steps * (size - 1) / 10;
  MPI_Status status;
  if (rank == 0)
    for (int workers = size - 1; workers > 0;) {
      double result;
      MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
      task = left-- > 0;
      workers -= !task;
      MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
    }
  else
    for (task = 1; task;) {
      double result = work(8);
      MPI_Send(&result, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
      MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);
    }
  MPI_Finalize();
}
