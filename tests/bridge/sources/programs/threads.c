/* SPDX-License-Identifier: BSD-3-Clause
 *
 * threads.c - four threads under MPI_THREAD_MULTIPLE, each passing 500 messages around the ring on
 * the same communicator, thread t of t + 1 integers; two with MPI_Wait, two with MPI_Waitany and
 * from any source. */
#include <pthread.h>

#include "ring.h"

enum { kThreads = 4, kMessages = 500 };

static void* pass(void* number) {
  const int t = (int)(long)number;
  int out[8] = {0}, in[8], index;
  MPI_Request requests[2];
  for (int i = 0; i < kMessages; ++i) {
    MPI_Irecv(in, 8, MPI_INT, t < 2 ? left : MPI_ANY_SOURCE, t, comm, &requests[0]);
    MPI_Isend(out, t + 1, MPI_INT, right, t, comm, &requests[1]);
    if (t % 2) {
      MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    } else {
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) return 77;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  for (long t = 0; t < kThreads; ++t) pthread_create(&threads[t], NULL, pass, (void*)t);
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
