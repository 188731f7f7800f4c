/* SPDX-License-Identifier: BSD-3-Clause
 *
 * left_call.c - one rank whose error handler leaves an MPI Fortran function by longjmp. Then ten
 * times a message to itself and a sum. "run": then perfield_step, and a function sends the
 * messages, deeper in the stack than the call that was left. */
#include <mpi.h>
#include <setjmp.h>
#include <string.h>

#include "perfield.h"

void mpi_send_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);

static jmp_buf back;
static void leave(MPI_Comm* comm, int* error, ...) {
  (void)comm;
  (void)error;
  longjmp(back, 1);
}

static __attribute__((noinline)) int deeper(int n) {
  volatile int in[100] = {0};
  const int out = n;
  MPI_Request request;
  MPI_Irecv((void*)in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
  MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return in[0];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int runs = argc > 1 && !strcmp(argv[1], "run");
  int out = 1, in = 0, sum = 0;
  MPI_Request request;
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(leave, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Fint one = 1, integer = MPI_Type_c2f(MPI_INT), nobody = 99, tag = 0, ierror;
  MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD);
  if (!setjmp(back)) {
    mpi_send_(&out, &one, &integer, &nobody, &tag, &world, &ierror);
    return 1;
  }
  if (runs) {
    perfield_step(0, 0);
    for (int n = 1; n <= 10; ++n) sum += deeper(n);
  } else {
    for (int n = 1; n <= 10; ++n) {
      MPI_Allreduce(&n, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
      MPI_Send(&n, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    sum = 55;
  }
  MPI_Finalize();
  return sum == 55 ? 0 : 2;
}
