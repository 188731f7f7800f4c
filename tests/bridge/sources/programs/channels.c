/* SPDX-License-Identifier: BSD-3-Clause
 *
 * channels.c - cases of messages whose sizes name them among all from their sender to their
 * receiver, so that both ends can be compared. `channels threads` runs the case that needs threads,
 * without an argument the others run, some of them with messages that MPI takes at once and with
 * large ones. */
#include "channels.h"

#include <pthread.h>

void end_case(const char* name); /* of listener.c */

enum { kLarge = 70000 }; /* bytes: a message that MPI does not take at once */

static void tags(void) {
  const int order[2][4] = {{7, 9, 7, 0}, {9, 7, 0, 7}};
  for (int round = 0; round < 5; ++round) {
    for (int peer = 0; peer < size; ++peer)
      for (int i = 0; i < 4; ++i) post(peer, order[round % 2][i], comm);
    for (int peer = 0; peer < size; ++peer)
      for (int i = 0; i < 4; ++i) begin_send(peer, order[(peer + round) % 2][i], comm);
    wait_all();
    for (int i = 0; i < 2; ++i) {
      const int to = (rank + 1) % size, from = (rank + size - 1) % size;
      const int n = next_size(to);
      MPI_Sendrecv(out, n, MPI_BYTE, to, 7, in[0], kRoom, MPI_BYTE, from, 7, comm,
                   MPI_STATUS_IGNORE);
    }
    for (int other = 0; other < size; ++other) {
      if (rank == 0 && other) send(other, 9, comm);
      if (rank == other && other) receive(0, 9, comm);
    }
  }
}

/* The communicator's name and a message around it, with the same tag everywhere. */
static void around(MPI_Comm made, const char* label) {
  if (made == MPI_COMM_NULL) return;
  int me, n, inter;
  MPI_Comm_set_name(made, label);
  MPI_Comm_rank(made, &me);
  MPI_Comm_size(made, &n);
  MPI_Comm_test_inter(made, &inter);
  for (int i = 0; i < 2; ++i) {
    if (inter) {
      post(me, 5, made);
      begin_send_as(me, (world_rank + size / 2) % size, 5, made);
    } else {
      MPI_Group group, world;
      int to = (me + 1) % n, to_world;
      MPI_Comm_group(made, &group);
      MPI_Comm_group(MPI_COMM_WORLD, &world);
      MPI_Group_translate_ranks(group, 1, &to, world, &to_world);
      MPI_Group_free(&group);
      MPI_Group_free(&world);
      post((me + n - 1) % n, 5, made);
      begin_send_as(to, to_world, 5, made);
    }
  }
  wait_all();
}

static void communicators(void) {
  MPI_Comm made[20];
  MPI_Group world, group;
  MPI_Request request;
  const int half = size / 2, lower = world_rank < half, one = 1;
  int ranks[3] = {2, 0, 3}, periodic[2] = {1, 1}, dims[2] = {2, size / 2}, remain[2] = {0, 1};
  const int right = (world_rank + 1) % size, left = (world_rank + size - 1) % size;
  int index[64], edges[128];
  for (int i = 0; i < size; ++i) {
    index[i] = 2 * (i + 1);
    edges[2 * i] = (i + 1) % size;
    edges[2 * i + 1] = (i + size - 1) % size;
  }
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 3, ranks, &group);
  MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
  MPI_Comm_dup(made[0], &made[1]);
  MPI_Comm_dup(MPI_COMM_WORLD, &made[2]);
  MPI_Comm_split(MPI_COMM_WORLD, lower, 0, &made[3]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &made[4]);
  MPI_Comm_create(MPI_COMM_WORLD, group, &made[5]);
  made[6] = MPI_COMM_NULL;
  if (made[5] != MPI_COMM_NULL) MPI_Comm_create_group(MPI_COMM_WORLD, group, 1, &made[6]);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &made[7]);
  MPI_Cart_sub(made[7], remain, &made[8]);
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &made[9]);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &one, 1, &right, &one, MPI_INFO_NULL, 0,
                                 &made[10]);
  MPI_Intercomm_create(made[3], 0, MPI_COMM_WORLD, lower ? half : 0, 3, &made[11]);
  MPI_Intercomm_merge(made[11], lower, &made[12]);
  MPI_Comm_idup(MPI_COMM_WORLD, &made[13], &request);
  MPI_Comm_dup(MPI_COMM_WORLD, &made[14]);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_dup(made[11], &made[15]);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank == 1 ? MPI_UNDEFINED : 0, 0, &made[16]);
  MPI_Comm_dup(MPI_COMM_SELF, &made[17]);
  const char* labels[] = {"dup",    "dup of dup", "second dup",   lower ? "lower" : "upper",
                          "turned", "create",     "create_group", "cart",
                          "row",    "graph",      "dist_graph",   "intercomm",
                          "merged", "idup",       "dup of idup",  "dup of intercomm",
                          "three",  "self"};
  char row[16], self[16];
  snprintf(row, sizeof row, "row %d", world_rank / (size / 2));
  snprintf(self, sizeof self, "self %d", world_rank);
  labels[8] = row;
  labels[17] = self;
  for (int i = 17; i >= 0; --i) around(made[i], labels[i]);
  around(MPI_COMM_WORLD, "world");
  for (int i = 0; i < 18; ++i)
    if (made[i] != MPI_COMM_NULL) MPI_Comm_free(&made[i]);
  /* More than the table of channels holds, but never at the same time. */
  for (int i = 0; i < 2000; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
    if (rank < 2) {
      if (rank == 0) send(1, 5, made[0]);
      if (rank == 1) receive(0, 5, made[0]);
    }
    MPI_Comm_free(&made[0]);
  }
}

/* Rank 0 receives, the others send. Phases are kept apart, and named by their tags. */
static void wildcards(void) {
  MPI_Request background = MPI_REQUEST_NULL, some[8];
  MPI_Status status;
  int which;
  if (rank == 0) MPI_Irecv(in[63], kRoom, MPI_BYTE, MPI_ANY_SOURCE, 99, comm, &background);
  for (int i = 0; i < 3; ++i) { /* tag 1: one at a time */
    if (rank == 0)
      for (int n = 1; n < size; ++n) receive(MPI_ANY_SOURCE, 1, comm);
    else
      send(0, 1, comm);
  }
  for (int i = 0; i < 3; ++i) { /* tag 2: together, in order */
    if (rank == 0)
      for (int n = 1; n < size; ++n) post(MPI_ANY_SOURCE, 2, comm);
    else
      begin_send(0, 2, comm);
    wait_all();
  }
  MPI_Barrier(comm);
  for (int i = 0; i < 4; ++i) { /* tag 3: any tag, beside other tags */
    if (rank == 0) {
      receive(1, MPI_ANY_TAG, comm);
      receive(1, 4, comm);
    } else if (rank == 1) {
      send(0, 3, comm);
      send(0, 4, comm);
    }
  }
  MPI_Barrier(comm);
  for (int i = 0; i < 2; ++i) { /* tag 5: among receives that name the source */
    if (rank == 0) {
      post(1, 5, comm);
      post(MPI_ANY_SOURCE, 5, comm);
      post(1, 5, comm);
      post(1, 6, comm);
    } else if (rank == 1) {
      for (int n = 0; n < 3; ++n) begin_send(0, 5, comm);
      begin_send(0, 6, comm);
    }
    wait_all();
    MPI_Barrier(comm);
  }
  for (int i = 0; i < 3; ++i) { /* tag 5: the order is known again */
    if (rank == 0) receive(1, 5, comm);
    if (rank == 1) send(0, 5, comm);
  }
  MPI_Barrier(comm);
  if (rank == 0) { /* tag 7: completed the other way round */
    for (int n = 0; n < 8; ++n)
      MPI_Irecv(in[n], kRoom, MPI_BYTE, MPI_ANY_SOURCE, 7, comm, &some[n]);
    for (int n = 7; n >= 0; --n) MPI_Wait(&some[n], MPI_STATUS_IGNORE);
    for (int n = 0; n < 8; ++n)
      MPI_Irecv(in[n], kRoom, MPI_BYTE, MPI_ANY_SOURCE, 7, comm, &some[n]);
    for (int n = 0; n < 8; ++n) {
      MPI_Waitany(8, some, &which, &status);
    }
  } else if (rank == 1) {
    for (int n = 0; n < 16; ++n) send(0, 7, comm);
  }
  MPI_Barrier(comm);
  for (int i = 0; i < 3; ++i) { /* tag 7 again, once all are complete */
    if (rank == 0) receive(1, 7, comm);
    if (rank == 1) send(0, 7, comm);
  }
  if (rank == 1) send(0, 99, comm);
  if (rank == 0) MPI_Wait(&background, MPI_STATUS_IGNORE);
  if (rank == 0) receive(1, 99, comm);
  if (rank == 1) send(0, 99, comm);
}

static void persistent(void) {
  MPI_Request requests[6];
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int n[2] = {next_size(to), next_size(to)};
  MPI_Send_init(out, n[0], MPI_BYTE, to, 5, comm, &requests[0]);
  MPI_Ssend_init(out, n[1], MPI_BYTE, to, 6, comm, &requests[1]);
  MPI_Recv_init(in[0], kRoom, MPI_BYTE, from, 6, comm, &requests[2]);
  MPI_Recv_init(in[1], kRoom, MPI_BYTE, from, 5, comm, &requests[3]);
  MPI_Recv_init(in[2], kRoom, MPI_BYTE, MPI_ANY_SOURCE, 8, comm, &requests[4]);
  MPI_Send_init(out, n[1], MPI_BYTE, to, 8, comm, &requests[5]);
  for (int round = 0; round < 4; ++round) {
    MPI_Startall(3, requests);
    post(from, 5, comm); /* posted before the persistent one of its tag */
    MPI_Start(&requests[3]);
    begin_send(to, 5, comm);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    wait_all();
    MPI_Start(&requests[4]);
    MPI_Start(&requests[5]);
    MPI_Waitall(2, requests + 4, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 6; ++i) MPI_Request_free(&requests[i]);
}

/* Each way to complete what was sent and received. */
static void completions(void) {
  MPI_Request requests[8];
  MPI_Status statuses[8];
  int indices[8];
  for (int way = 0; way < 9; ++way) {
    const int to = (rank + 1) % size, from = (rank + size - 1) % size, n = 6;
    for (int i = 0; i < 3; ++i) {
      MPI_Irecv(in[i], kRoom, MPI_BYTE, from, i % 2, comm, &requests[2 * i]);
      const int bytes = next_size(to);
      MPI_Isend(out, bytes, MPI_BYTE, to, i % 2, comm, &requests[2 * i + 1]);
    }
    int done = 0, flag = 0, some = 0, which;
    if (way == 0) MPI_Waitall(n, requests, way % 2 ? statuses : MPI_STATUSES_IGNORE);
    if (way == 1) MPI_Waitall(n, requests, statuses);
    for (int i = 0; way == 2 && i < n; ++i) MPI_Wait(&requests[n - 1 - i], MPI_STATUS_IGNORE);
    for (int i = 0; way == 3 && i < n; ++i) MPI_Waitany(n, requests, &which, MPI_STATUS_IGNORE);
    while (way == 4 && done < n) {
      MPI_Waitsome(n, requests, &some, indices, statuses);
      done += some;
    }
    for (int i = 0; way == 5 && i < n; ++i)
      for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    while (way == 6 && !flag) MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
    while (way == 7 && done < n) {
      MPI_Testany(n, requests, &which, &flag, statuses);
      done += flag && which != MPI_UNDEFINED;
    }
    while (way == 8 && done < n) {
      MPI_Testsome(n, requests, &some, indices, MPI_STATUSES_IGNORE);
      done += some;
    }
  }
}

static void cancelled(void) {
  MPI_Request requests[4], wild;
  MPI_Status status;
  int flag;
  for (int round = 0; round < 3; ++round) {
    if (rank == 0) {
      for (int i = 0; i < 3; ++i) MPI_Irecv(in[i], kRoom, MPI_BYTE, 1, 4, comm, &requests[i]);
      MPI_Irecv(in[5], kRoom, MPI_BYTE, MPI_ANY_SOURCE, 8, comm, &wild);
      MPI_Cancel(&requests[0]);
      MPI_Cancel(&wild);
      MPI_Irecv(in[3], kRoom, MPI_BYTE, 1, 4, comm, &requests[3]);
      MPI_Barrier(comm);
      if (round % 2) MPI_Wait(&requests[0], &status);
      MPI_Waitall(3, requests + 1, MPI_STATUSES_IGNORE);
      if (round % 2 == 0) MPI_Wait(&requests[0], &status);
      MPI_Test_cancelled(&status, &flag);
      if (!flag) printf("not cancelled\n");
      MPI_Wait(&wild, &status);
      receive(1, 4, comm);
      receive(1, 8, comm);
    } else {
      MPI_Barrier(comm);
      for (int i = 0; rank == 1 && i < 4; ++i) send(0, 4, comm);
      if (rank == 1) send(0, 8, comm);
    }
  }
}

static void paused(void) {
  for (int round = 0; round < 6; ++round) {
    if (rank == 1 && round == 2) MPI_Pcontrol(0);
    if (rank == 2 && round == 3) MPI_Pcontrol(0);
    if (rank == 1 && round == 4) MPI_Pcontrol(1);
    if (rank == 2 && round == 5) MPI_Pcontrol(1);
    MPI_Barrier(comm);
    for (int peer = 0; peer < size; ++peer) post(peer, 3, comm);
    for (int peer = 0; peer < size; ++peer) begin_send(peer, 3, comm);
    wait_all();
    if (rank == 0)
      for (int n = 1; n < size; ++n) receive(MPI_ANY_SOURCE, 6, comm);
    else
      send(0, 6, comm);
  }
  MPI_Barrier(comm);
}

static void matched(void) {
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 2; ++i) begin_send((rank + 1) % size, 3, comm);
    for (int i = 0; i < 2; ++i) {
      const int from = round % 2 ? (rank + size - 1) % size : MPI_ANY_SOURCE;
      MPI_Message message;
      MPI_Request request;
      int flag = 0;
      if (round < 3)
        MPI_Mprobe(from, 3, comm, &message, MPI_STATUS_IGNORE);
      else
        while (!flag) MPI_Improbe(from, 3, comm, &flag, &message, MPI_STATUS_IGNORE);
      if (i) {
        MPI_Mrecv(in[0], kRoom, MPI_BYTE, &message, MPI_STATUS_IGNORE);
      } else {
        MPI_Imrecv(in[0], kRoom, MPI_BYTE, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
    }
    wait_all();
  }
}

/* One thread on tag 1 alone, two on tag 2. */
static void* thread_main(void* tag_given) {
  const int tag = *(int*)tag_given, to = (rank + 1) % size, from = (rank + size - 1) % size;
  static __thread char own[kRoom];
  for (int i = 0; i < 200; ++i) {
    MPI_Request requests[2];
    MPI_Irecv(own, kRoom, MPI_BYTE, from, tag, comm, &requests[0]);
    MPI_Isend(out, next_size(to), MPI_BYTE, to, tag, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  return NULL;
}
static void threads(void) {
  pthread_t threads[4];
  int tag[4] = {1, 2, 2, 3};
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, thread_main, &tag[i]);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

static void many(void) {
  for (int round = 0; round < 2; ++round)
    for (int tag = 0; tag < 5000; ++tag) {
      if (rank == 0) send(1, tag, comm);
      if (rank == 1) receive(0, tag, comm);
    }
}

#if MPI_VERSION >= 4
static void partitioned(void) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  const int n = next_size(to);
  MPI_Request requests[2];
  MPI_Psend_init(out, 1, n, MPI_BYTE, to, 5, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in[0], 1, n, MPI_BYTE, from, 5, comm, MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 3; ++round) {
    if (rank % 2) { /* another order than on the other ranks */
      post(from, 5, comm);
      begin_send(to, 5, comm);
    }
    MPI_Startall(2, requests);
    MPI_Pready(0, requests[0]);
    if (rank % 2 == 0) {
      post(from, 5, comm);
      begin_send(to, 5, comm);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    wait_all();
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}
#else
static void partitioned(void) {}
#endif

static void collectives(void) {
  MPI_Comm half, all, cart;
  MPI_Win window;
  MPI_Request requests[3];
  static int values[64], results[256], *memory;
  int dims[1] = {size}, periodic[1] = {1}, of_grid[2] = {2, size / 2}, both[2] = {1, 1};
  MPI_Comm_split(comm, rank % 2, 0, &half);
  MPI_Comm_dup(comm, &all);
  MPI_Win_allocate(sizeof values, sizeof(int), MPI_INFO_NULL, all, &memory, &window);
  for (int round = 0; round < 2; ++round) {
    MPI_Barrier(comm);
    MPI_Bcast(values, 4, MPI_INT, 1, half);
    MPI_Bcast(values, 3, MPI_INT, 2, comm);
    MPI_Reduce(values, results, 2, MPI_INT, MPI_SUM, 3, comm);
    MPI_Ibarrier(comm, &requests[0]);
    MPI_Iallreduce(values, results, 5, MPI_INT, MPI_SUM, comm, &requests[1]);
    MPI_Ibcast(values + 10, 6, MPI_INT, 1, comm, &requests[2]);
    if (round)
      for (int i = 2; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    else
      MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Win_fence(0, window);
    MPI_Put(values + 32, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    if (rank == 1 && round == 0) MPI_Pcontrol(0);
    MPI_Allreduce(values, results, 1, MPI_INT, MPI_MAX, comm);
    if (rank == 1) MPI_Pcontrol(1);
    MPI_Alltoall(values, 2, MPI_INT, results, 2, MPI_INT, comm);
  }
  MPI_Win_free(&window);
  MPI_Comm_free(&all);
  for (int grid = 0; grid < 2; ++grid) {
    if (grid)
      MPI_Cart_create(comm, 2, of_grid, both, 0, &cart);
    else
      MPI_Cart_create(comm, 1, dims, periodic, 0, &cart);
    for (int round = 0; round < 3; ++round) {
      MPI_Neighbor_alltoall(values, 1, MPI_INT, results, 1, MPI_INT, cart);
      MPI_Ineighbor_allgather(values, 2, MPI_INT, results, 2, MPI_INT, cart, &requests[0]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&cart);
  }
  MPI_Comm_free(&half);
}

/* A case with a communicator of its own. The barrier keeps two cases apart, and no one hears it. */
static void run(const char* name, void (*its_calls)(void), int smallest) {
  base = smallest;
  memset(n_sent, 0, sizeof n_sent);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  its_calls();
  PMPI_Barrier(comm);
  end_case(name);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  const int with_threads = argc > 1 && strcmp(argv[1], "threads") == 0;
  begin(argc, argv, with_threads);
  if (with_threads) {
    run("threads", threads, 0);
  } else {
    run("tags", tags, 0);
    run("tags large", tags, kLarge);
    run("wildcards", wildcards, 0);
    run("wildcards large", wildcards, kLarge);
    run("persistent", persistent, 0);
    run("persistent large", persistent, kLarge);
    run("completions", completions, 0);
    run("completions large", completions, kLarge);
    run("cancelled", cancelled, 0);
    run("paused", paused, 0);
    run("matched", matched, 0);
    run("partitioned", partitioned, 0);
    run("collectives", collectives, 0);
    run("communicators", communicators, 0);
    run("many", many, 0);
  }
  MPI_Finalize();
  return 0;
}
