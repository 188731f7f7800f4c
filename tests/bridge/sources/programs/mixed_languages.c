/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mixed_languages.c - a C program that also calls MPI's Fortran functions, with one underscore or
 * two, as Fortran parts of it would. One language starts requests and the other completes them.
 * Sends one integer twice and two integers twice to the right neighbour. */
#include "ring.h"

void mpi_irecv_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_wait__(MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_waitall_(MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_barrier_(MPI_Fint*, MPI_Fint*);
void mpi_barrier__(MPI_Fint*, MPI_Fint*);

int main(int argc, char** argv) {
  int out[2] = {1, 2}, in[2];
  MPI_Request requests[2];
  MPI_Fint handles[2], ierror, status[sizeof(MPI_Status) / sizeof(MPI_Fint)];
  MPI_Fint tag = 7, two = 2, any = MPI_ANY_SOURCE;
  begin(argc, argv);
  MPI_Fint world = MPI_Comm_c2f(comm), integer = MPI_Type_c2f(MPI_INT);

  MPI_Irecv(in, 2, MPI_INT, MPI_ANY_SOURCE, tag, comm, &requests[0]);
  MPI_Send(out, 1, MPI_INT, right, tag, comm);
  handles[0] = MPI_Request_c2f(requests[0]);
  mpi_wait__(&handles[0], status, &ierror);

  mpi_irecv_(in, &two, &integer, &any, &tag, &world, &handles[0], &ierror);
  MPI_Send(out, 1, MPI_INT, right, tag, comm);
  requests[0] = MPI_Request_f2c(handles[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

  for (int time = 0; time < 2; ++time) {
    mpi_irecv_(in, &two, &integer, time ? &left : &any, &tag, &world, &handles[0], &ierror);
    MPI_Isend(out, 2, MPI_INT, right, tag, comm, &requests[1]);
    handles[1] = MPI_Request_c2f(requests[1]);
    mpi_waitall_(&two, handles, MPI_F_STATUSES_IGNORE, &ierror);
  }
  mpi_barrier_(&world, &ierror);
  mpi_barrier__(&world, &ierror);
  MPI_Barrier(comm);
  end();
  return 0;
}
