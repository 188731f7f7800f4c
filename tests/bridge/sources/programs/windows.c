/* SPDX-License-Identifier: BSD-3-Clause
 *
 * windows.c - one-sided transfers to the right neighbour of a window's communicator, under every
 * kind of synchronisation. The n-th transfer moves n doubles. */
#include "calls.h"

int windows(const char* what) {
  double out[64] = {0}, in[64], *memory;
  MPI_Win window;
  MPI_Request request;
  MPI_Group all, to, from;
  MPI_Win_allocate(64 * sizeof(double), sizeof(double), MPI_INFO_NULL, comm, &memory, &window);

  MPI_Win_fence(0, window);
  MPI_Put(out, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, window);
  MPI_Put(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, 1, MPI_DOUBLE, window);
  MPI_Accumulate(out, 2, MPI_DOUBLE, right, 8, 2, MPI_DOUBLE, MPI_SUM, window);
  MPI_Win_fence(0, window);

  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window);
  MPI_Get(in, 3, MPI_DOUBLE, right, 0, 3, MPI_DOUBLE, window);
  MPI_Win_flush(right, window);
  MPI_Win_flush_local(right, window);
  MPI_Win_unlock(right, window);

  MPI_Win_lock_all(0, window);
  MPI_Rput(out, 4, MPI_DOUBLE, right, 16, 4, MPI_DOUBLE, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Rget(in, 5, MPI_DOUBLE, right, 16, 5, MPI_DOUBLE, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Raccumulate(out, 6, MPI_DOUBLE, right, 24, 6, MPI_DOUBLE, MPI_SUM, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush_all(window);
  MPI_Win_flush_local_all(window);
  MPI_Win_sync(window);
  MPI_Get_accumulate(out, 7, MPI_DOUBLE, in, 7, MPI_DOUBLE, right, 32, 7, MPI_DOUBLE, MPI_SUM,
                     window);
  MPI_Get_accumulate(NULL, 7, MPI_DOUBLE, in, 7, MPI_DOUBLE, right, 32, 7, MPI_DOUBLE, MPI_NO_OP,
                     window);
  MPI_Rget_accumulate(out, 8, MPI_DOUBLE, in, 8, MPI_DOUBLE, right, 40, 8, MPI_DOUBLE, MPI_SUM,
                      window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  long one = 1, zero = 0, found;
  MPI_Fetch_and_op(&one, &found, MPI_LONG, right, 48, MPI_SUM, window);
  MPI_Win_flush(right, window);
  MPI_Compare_and_swap(&one, &zero, &found, MPI_LONG, right, 49, window);
  MPI_Win_unlock_all(window);

  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, 1, &right, &to);
  MPI_Group_incl(all, 1, &left, &from);
  MPI_Win_post(from, 0, window);
  MPI_Win_start(to, 0, window);
  MPI_Put(out, 9, MPI_DOUBLE, right, 50, 9, MPI_DOUBLE, window);
  MPI_Win_complete(window);
  MPI_Win_wait(window);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Group_free(&all);
  MPI_Win_free(&window);
  return 0;
}
