/* SPDX-License-Identifier: BSD-3-Clause
 *
 * channels.h - sends, receives and waits of channels.c. */
#pragma once
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRoom = 1 << 17, kMost = 1024 };
static MPI_Comm comm;
static int rank, size, world_rank, base;
static int n_sent[64]; /* to each rank of the world */
static char out[kRoom], in[64][kRoom];
static MPI_Request begun[kMost];
static int n_begun = 0;

static inline void begin(int argc, char** argv, int with_threads) {
  int provided;
  if (with_threads)
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else
    MPI_Init(&argc, &argv);
  comm = MPI_COMM_WORLD;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  world_rank = rank;
}

/* Of the next message to that rank of the world. */
static inline int next_size(int world) {
  return base + __atomic_add_fetch(&n_sent[world], 1, __ATOMIC_RELAXED);
}
static inline void send(int to, int tag, MPI_Comm where) {
  MPI_Send(out, next_size(to), MPI_BYTE, to, tag, where);
}
static inline void receive(int from, int tag, MPI_Comm where) {
  MPI_Recv(in[0], kRoom, MPI_BYTE, from, tag, where, MPI_STATUS_IGNORE);
}
static inline void begin_send_as(int to, int to_world, int tag, MPI_Comm where) {
  MPI_Isend(out, next_size(to_world), MPI_BYTE, to, tag, where, &begun[n_begun++]);
}
static inline void begin_send(int to, int tag, MPI_Comm where) {
  begin_send_as(to, to, tag, where);
}
static inline void post(int from, int tag, MPI_Comm where) {
  MPI_Irecv(in[n_begun % 64], kRoom, MPI_BYTE, from, tag, where, &begun[n_begun]);
  ++n_begun;
}
static inline void wait_all(void) {
  MPI_Waitall(n_begun, begun, MPI_STATUSES_IGNORE);
  n_begun = 0;
}
