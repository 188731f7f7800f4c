/* SPDX-License-Identifier: BSD-3-Clause
 *
 * interposer.c - another PMPI tool: counts some calls and prints them in MPI_Finalize, after the
 * word TOOL. It calls the PMPI_ function or, compiled with -DNEXT, that of the next library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#ifdef NEXT
#define ON(name) ((__typeof__(&MPI_##name))dlsym(RTLD_NEXT, "MPI_" #name))
#else
#define ON(name) PMPI_##name
#endif

static int inits, sends, waits, collectives;

int MPI_Init(int* argc, char*** argv) { return ++inits, ON(Init)(argc, argv); }
int MPI_Isend(const void* buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return ++sends, ON(Isend)(buffer, n, type, to, tag, comm, request);
}
int MPI_Waitall(int n, MPI_Request* requests, MPI_Status* statuses) {
  return ++waits, ON(Waitall)(n, requests, statuses);
}
int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return ++collectives, ON(Allreduce)(in, out, n, type, op, comm);
}
int MPI_Finalize(void) {
  printf("%s %d %d %d %d\n", TOOL, inits, sends, waits, collectives);
  return ON(Finalize)();
}
