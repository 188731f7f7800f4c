/* SPDX-License-Identifier: BSD-3-Clause
 *
 * spawns.c - one rank starts a second program, sends it two messages and gets one back: ranks of
 * another MPI_COMM_WORLD. */
#include "ring.h"

int main(int argc, char** argv) {
  int data[8] = {0};
  MPI_Comm parent, children;
  begin(argc, argv);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Send(data, 3, MPI_INT, 0, 1, children);
    MPI_Send(data, 4, MPI_INT, 0, 1, children);
    MPI_Recv(data, 8, MPI_INT, MPI_ANY_SOURCE, 2, children, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&children);
  } else {
    MPI_Recv(data, 8, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
    MPI_Recv(data, 8, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
    MPI_Send(data, 5, MPI_INT, 0, 2, parent);
    MPI_Comm_disconnect(&parent);
  }
  end();
  return 0;
}
