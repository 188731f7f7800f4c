// SPDX-License-Identifier: BSD-3-Clause
//
// stopped.c - a library before libmpi: rank $STOPPED_RANK stops for good where perfield's message
// number $STOPPED_AT arrives, in the midst of MPI_Init. The other ranks run on as after its death
// under a launcher that does not end them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int PMPI_Recv(void* data, int n, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Status* status) {
  static int (*next)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
  static int received;
  if (!next) next = dlsym(RTLD_NEXT, "PMPI_Recv");
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *stopped = getenv("STOPPED_RANK");
  if (rank && stopped && atoi(rank) == atoi(stopped) && ++received == atoi(getenv("STOPPED_AT")))
    for (;;) pause();
  return next(data, n, type, source, tag, comm, status);
}
