/* SPDX-License-Identifier: BSD-3-Clause
 *
 * failed_receives.c - each rank frees receives, a persistent one among them, whose messages are
 * longer than their room. Returns how often that called the program's error handler.
 */
#include "calls.h"

static int handled;
static void on_error(MPI_Comm* given, int* error, ...) { (void)given, (void)error, ++handled; }

int failed_receives(const char* what) {
  int in[2], out[20] = {0};
  MPI_Request received, kept;
  MPI_Errhandler handler;
  handled = 0;
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Irecv(&in[0], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &received);
  MPI_Recv_init(&in[1], 1, MPI_INT, 0, 2, MPI_COMM_SELF, &kept);
  MPI_Start(&kept);
  for (int tag = 1; tag <= 2; ++tag) MPI_Send(out, 20, MPI_INT, 0, tag, MPI_COMM_SELF);
  MPI_Request_free(&received);
  MPI_Request_free(&kept);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  return handled;
}
