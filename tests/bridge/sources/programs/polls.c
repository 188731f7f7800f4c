/* SPDX-License-Identifier: BSD-3-Clause
 *
 * polls.c - rank 1 sleeps and then sends to rank 0, which finds out in another way in each step.
 * Prints how many seconds the blocking probes took, by their ways. */
#include <mpi.h>
#include <perfield.h>
#include <stdio.h>
#include <time.h>

enum { WAYS = 12, OF_WINDOW = 11, MOST = 4 };

static void sleep_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&time, &time)) {
  }
}

/* The last way: rank 1 ends an access epoch late, rank 0 tests for the end of its exposure. */
static void poll_window(int rank, MPI_Win window) {
  MPI_Group all, other;
  const int peer = 1 - rank;
  int flag = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &peer, &other);
  if (rank == 0) {
    MPI_Win_post(other, 0, window);
    while (!flag) MPI_Win_test(window, &flag);
  } else {
    MPI_Win_start(other, 0, window);
    sleep_ms(200);
    MPI_Win_complete(window);
  }
  MPI_Group_free(&other);
  MPI_Group_free(&all);
}

static void poll_for(int way) {
  int word[MOST], flag = 0, which[MOST] = {0}, n_done = 0;
  double started_s;
  MPI_Status status, statuses[MOST];
  MPI_Message message;
  MPI_Request request[MOST], none = MPI_REQUEST_NULL;
  const int tag = way, comes_by_request = way >= 4 && way < 9;
  if (comes_by_request) MPI_Irecv(word, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &request[0]);
  for (int i = 1; i < MOST; ++i) request[i] = MPI_REQUEST_NULL;
  switch (way) {
    case 0:
      started_s = MPI_Wtime();
      MPI_Probe(1, tag, MPI_COMM_WORLD, &status);
      printf("%d %.9f\n", way, MPI_Wtime() - started_s);
      break;
    case 1:
      started_s = MPI_Wtime();
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
      printf("%d %.9f\n", way, MPI_Wtime() - started_s);
      MPI_Mrecv(word, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
      return;
    case 2:
      while (!flag) MPI_Iprobe(1, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      break;
    case 3:
      while (!flag) MPI_Improbe(1, tag, MPI_COMM_WORLD, &flag, &message, &status);
      MPI_Imrecv(word, 1, MPI_INT, &message, &request[0]);
      MPI_Wait(&request[0], MPI_STATUS_IGNORE);
      return;
    case 4:
      while (!flag) MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE);
      break;
    case 5:
      while (!flag) MPI_Testall(MOST, request, &flag, MPI_STATUSES_IGNORE);
      break;
    case 6:
      while (!flag) MPI_Testany(MOST, request, which, &flag, MPI_STATUS_IGNORE);
      break;
    case 7:
      while (n_done < 1) MPI_Testsome(MOST, request, &n_done, which, statuses);
      break;
    case 8: /* amid tests of what is complete */
      while (!flag) {
        int done;
        MPI_Test(&none, &done, MPI_STATUS_IGNORE);
        MPI_Testall(MOST - 1, request + 1, &done, MPI_STATUSES_IGNORE);
        MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE);
      }
      break;
    case 9: /* with a message from itself in between, which ends the first polls */
      for (int i = 0; i < 100; ++i) MPI_Iprobe(1, tag, MPI_COMM_WORLD, &flag, &status);
      MPI_Sendrecv(&way, 1, MPI_INT, 0, 99, word, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &status);
      while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status);
      break;
    default: /* the message has come long ago */
      sleep_ms(400);
      MPI_Iprobe(1, tag, MPI_COMM_WORLD, &flag, &status);
  }
  if (!comes_by_request) MPI_Recv(word, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank, *memory;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Barrier(MPI_COMM_WORLD);
  perfield_initialize();
  for (int way = 0; way < WAYS; ++way) {
    if (way == OF_WINDOW) {
      poll_window(rank, window);
    } else if (rank == 0) {
      poll_for(way);
    } else {
      sleep_ms(200);
      MPI_Send(&way, 1, MPI_INT, 0, way, MPI_COMM_WORLD);
    }
    perfield_step(way, way);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
