/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ways.c - each way of receiving takes one number from the other of two ranks: when that rank sent
 * it. Rank 0 prints, for each way, how many microseconds later the receive was complete. Between
 * two ways a barrier lets both ranks meet. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static int rank, peer, flag, which, n_done, indices[2];
static double out, in;
static MPI_Comm comm;
static MPI_Request requests[2];
static MPI_Message message;
static MPI_Status status, statuses[2];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void meet(void) {
  MPI_Barrier(comm);
  out = now();
}
static void send(void) {
  meet();
  MPI_Isend(&out, 1, MPI_DOUBLE, peer, 7, comm, &requests[1]);
}
static void post(int source) { MPI_Irecv(&in, 1, MPI_DOUBLE, source, 7, comm, &requests[0]); }
static void announce(const char* way) {
  const double late = now() - in;
  if (requests[1] != MPI_REQUEST_NULL) MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  if (rank == 0) printf("%s %.1f\n", way, late);
}

static void receive_in_all_ways(void) {
  send();
  MPI_Recv(&in, 1, MPI_DOUBLE, peer, 7, comm, MPI_STATUS_IGNORE);
  announce("recv");
  send();
  MPI_Recv(&in, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
  announce("recv_any");
  send();
  post(peer);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  announce("wait");
  send();
  post(MPI_ANY_SOURCE);
  MPI_Wait(&requests[0], &status);
  announce("wait_any_source");
  send();
  post(peer);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  announce("waitall");
  send();
  post(peer);
  MPI_Waitall(2, requests, statuses);
  announce("waitall_statuses");
  send();
  post(peer);
  do MPI_Waitany(2, requests, &which, &status);
  while (which != 0);
  announce("waitany");
  send();
  post(peer);
  do MPI_Waitsome(2, requests, &n_done, indices, statuses);
  while (requests[0] != MPI_REQUEST_NULL);
  announce("waitsome");
  send();
  post(peer);
  do MPI_Test(&requests[0], &flag, &status);
  while (!flag);
  announce("test");
  send();
  post(peer);
  do MPI_Testall(2, requests, &flag, statuses);
  while (!flag);
  announce("testall");
  send();
  post(peer);
  do MPI_Testany(2, requests, &which, &flag, &status);
  while (!flag || which != 0);
  announce("testany");
  send();
  post(peer);
  do MPI_Testsome(2, requests, &n_done, indices, statuses);
  while (requests[0] != MPI_REQUEST_NULL);
  announce("testsome");
  send();
  post(peer);
  do MPI_Request_get_status(requests[0], &flag, &status);
  while (!flag);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  announce("get_status");
  send();
  MPI_Probe(peer, 7, comm, &status);
  const double probed = now();
  MPI_Recv(&in, 1, MPI_DOUBLE, peer, 7, comm, MPI_STATUS_IGNORE);
  announce("probe");
  if (rank == 0) printf("probe_alone %.1f\n", probed - in);
  send();
  do MPI_Iprobe(MPI_ANY_SOURCE, 7, comm, &flag, &status);
  while (!flag);
  MPI_Recv(&in, 1, MPI_DOUBLE, peer, 7, comm, MPI_STATUS_IGNORE);
  announce("iprobe");
  send();
  MPI_Mprobe(peer, 7, comm, &message, &status);
  MPI_Mrecv(&in, 1, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
  announce("mprobe");
  send();
  do MPI_Improbe(peer, MPI_ANY_TAG, comm, &flag, &message, &status);
  while (!flag);
  MPI_Imrecv(&in, 1, MPI_DOUBLE, &message, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  announce("improbe");
  MPI_Request kept[2];
  MPI_Recv_init(&in, 1, MPI_DOUBLE, peer, 7, comm, &kept[0]);
  MPI_Send_init(&out, 1, MPI_DOUBLE, peer, 7, comm, &kept[1]);
  for (int i = 0; i < 2; ++i) {
    meet();
    MPI_Startall(2, kept);
    MPI_Waitall(2, kept, MPI_STATUSES_IGNORE);
    announce("start");
  }
  MPI_Request_free(&kept[0]);
  MPI_Request_free(&kept[1]);
  meet();
  MPI_Sendrecv(&out, 1, MPI_DOUBLE, peer, 7, &in, 1, MPI_DOUBLE, peer, 7, comm, MPI_STATUS_IGNORE);
  announce("sendrecv");
  meet();
  in = out;
  MPI_Sendrecv_replace(&in, 1, MPI_DOUBLE, peer, 7, peer, 7, comm, &status);
  announce("sendrecv_replace");
  /* Two at once, the second completed first: each keeps its own latency. */
  double first, second;
  MPI_Request two[2];
  meet();
  MPI_Irecv(&first, 1, MPI_DOUBLE, peer, 7, comm, &two[0]);
  MPI_Irecv(&second, 1, MPI_DOUBLE, peer, 7, comm, &two[1]);
  MPI_Send(&out, 1, MPI_DOUBLE, peer, 7, comm);
  MPI_Send(&out, 1, MPI_DOUBLE, peer, 7, comm);
  MPI_Wait(&two[1], MPI_STATUS_IGNORE);
  in = second;
  const double second_late = now() - second;
  MPI_Wait(&two[0], MPI_STATUS_IGNORE);
  in = first;
  announce("older");
  if (rank == 0) printf("newer %.1f\n", second_late);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  peer = 1 - rank;
  requests[1] = MPI_REQUEST_NULL;
  comm = MPI_COMM_WORLD;
  receive_in_all_ways();
  int dims = 2, periodic = 1;
  MPI_Comm made[3];
  MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
  MPI_Comm_split(made[0], 0, rank, &made[1]);
  MPI_Cart_create(made[0], 1, &dims, &periodic, 0, &made[2]);
  for (int i = 0; i < 3; ++i) {
    comm = made[i];
    send();
    MPI_Recv(&in, 1, MPI_DOUBLE, peer, 7, comm, &status);
    announce("made");
  }
  for (int i = 0; i < 3; ++i) MPI_Comm_free(&made[i]);
  MPI_Finalize();
  return 0;
}
