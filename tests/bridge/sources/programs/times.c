/* SPDX-License-Identifier: BSD-3-Clause
 *
 * times.c - rank 0 is late for every call. Each rank measures the time of its calls with MPI_Wtime,
 * by class. Prints "rank p2p wait collective onesided io other", in seconds. */
#include <time.h>

#include "ring.h"

enum { kP2p, kWait, kCollective, kOnesided, kIo, kOther, kClasses };
static double seconds[kClasses];

#define TIMED(kind, call)                  \
  do {                                     \
    const double before = MPI_Wtime();     \
    call;                                  \
    seconds[kind] += MPI_Wtime() - before; \
  } while (0)

static void late(void) {
  const struct timespec pause = {0, 60 * 1000 * 1000};
  if (rank == 0) nanosleep(&pause, NULL);
}

int main(int argc, char** argv) {
  int out[8] = {0}, in[8], *memory;
  MPI_Request request;
  MPI_Win window;
  MPI_File file;
  MPI_Comm other;
  begin(argc, argv);
  TIMED(kOther, MPI_Win_allocate(64, 1, MPI_INFO_NULL, comm, &memory, &window));
  for (int i = 0; i < 4; ++i) {
    late();
    if (rank == 0) {
      for (int r = 1; r < size; ++r) TIMED(kP2p, MPI_Send(out, 8, MPI_INT, r, 1, comm));
    } else {
      TIMED(kP2p, MPI_Recv(in, 8, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
      TIMED(kP2p, MPI_Irecv(in, 8, MPI_INT, 0, 2, comm, &request));
    }
    late();
    if (rank == 0) {
      for (int r = 1; r < size; ++r) TIMED(kP2p, MPI_Ssend(out, 8, MPI_INT, r, 2, comm));
    } else {
      TIMED(kWait, MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    late();
    TIMED(kCollective, MPI_Allreduce(out, in, 8, MPI_INT, MPI_SUM, comm));
    late();
    TIMED(kOnesided, MPI_Win_fence(0, window));
    late();
    TIMED(kOther, MPI_Comm_dup(comm, &other));
    TIMED(kOther, MPI_Comm_free(&other));
    late();
    TIMED(kIo, MPI_File_open(comm, "data", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    late();
    TIMED(kIo, MPI_File_close(&file));
  }
  TIMED(kOther, MPI_Win_free(&window));
  char line[200]; /* one write with the line end keeps other ranks' lines out */
  int n = sprintf(line, "%d", rank);
  for (int kind = 0; kind < kClasses; ++kind) n += sprintf(line + n, " %.9f", seconds[kind]);
  sprintf(line + n, "\n");
  fputs(line, stdout);
  end();
  return 0;
}
