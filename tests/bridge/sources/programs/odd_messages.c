/* SPDX-License-Identifier: BSD-3-Clause
 *
 * odd_messages.c - messages that are easily miscounted: with gaps in the type, to oneself, to
 * nobody, empty, on a communicator freed before they complete, on one of many short-lived
 * communicators, and more pending at once than the table holds. */
#include "calls.h"

enum { kMany = 10000 };

int odd_messages(const char* what) {
  static double out[100], in[100];
  static char many[kMany];
  static MPI_Request requests[kMany];
  MPI_Datatype gaps;
  MPI_Request request;
  MPI_Comm other;

  MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &gaps); /* 16 of 32 bytes */
  MPI_Type_commit(&gaps);
  MPI_Isend(out, 3, gaps, right, 1, comm, &request);
  MPI_Recv(in, 6, MPI_DOUBLE, left, 1, comm, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Type_free(&gaps);

  MPI_Sendrecv(out, 5, MPI_DOUBLE, rank, 2, in, 5, MPI_DOUBLE, rank, 2, comm, MPI_STATUS_IGNORE);
  MPI_Ssend(out, 5, MPI_DOUBLE, MPI_PROC_NULL, 3, comm);
  MPI_Issend(out, 0, MPI_DOUBLE, right, 4, comm, &request);
  MPI_Recv(in, 5, MPI_DOUBLE, left, 4, comm, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  MPI_Comm_dup(comm, &other);
  MPI_Irecv(in, 5, MPI_DOUBLE, MPI_ANY_SOURCE, 5, other, &request);
  MPI_Bsend(NULL, 0, MPI_DOUBLE, MPI_PROC_NULL, 5, other);
  MPI_Send(out, 2, MPI_DOUBLE, right, 5, other);
  MPI_Comm_free(&other);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  for (int i = 0; i < 50; ++i) { /* the same address, in alternating rank order */
    MPI_Comm_split(comm, 0, i % 2 ? rank : -rank, &other);
    const int to = i % 2 ? right : size - 1 - right, from = i % 2 ? left : size - 1 - left;
    MPI_Irecv(in, 1, MPI_DOUBLE, from, 6, other, &request);
    MPI_Rsend(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 6, other);
    MPI_Ibsend(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 6, other, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Irsend(out, 0, MPI_DOUBLE, MPI_PROC_NULL, 6, other, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, 1, MPI_DOUBLE, to, 8, from, 8, other, MPI_STATUS_IGNORE);
    MPI_Send(out, 1, MPI_DOUBLE, to, 6, other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&other);
  }

  for (int i = 0; i < kMany; ++i) MPI_Irecv(&many[i], 1, MPI_CHAR, left, 9, comm, &requests[i]);
  MPI_Barrier(comm);
  for (int i = 0; i < kMany; ++i) {
    char byte = 1;
    MPI_Send(&byte, 1, MPI_CHAR, right, 9, comm);
  }
  MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE);
  return 0;
}
