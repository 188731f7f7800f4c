/* SPDX-License-Identifier: BSD-3-Clause
 *
 * collectives.c - every collective once, blocking or not (`i`), in place or not (`in_place`). Root
 * is rank 1. Arguments that are not significant are an address that nobody may read. */
#include "calls.h"

enum { kRoot = 1 };
static const int* volatile kUnreadable = (const int*)8; /* hides the value from the compiler */

#define CALL(function, ifunction, ...)     \
  if (started) {                           \
    ifunction(__VA_ARGS__, &request);      \
    MPI_Wait(&request, MPI_STATUS_IGNORE); \
  } else {                                 \
    function(__VA_ARGS__);                 \
  }

int collectives(const char* what) {
  static int out[4096], in[4096], counts[64], displs[64];
  MPI_Datatype types[64];
  MPI_Request request;
  const int started = what[0] == 'i';
  const int in_place = strstr(what, "in_place") != NULL;
  const int root = rank == kRoot;
  const void* mine = in_place ? MPI_IN_PLACE : out;              /* all send and receive */
  const void* root_mine = in_place && root ? MPI_IN_PLACE : out; /* one receives */
  void* root_in = in_place && root ? MPI_IN_PLACE : in;          /* one sends */
  for (int r = 0; r < size; ++r) {                               /* rank r gives r + 1 integers */
    counts[r] = r + 1;
    displs[r] = r * (r + 1) / 2;
    types[r] = MPI_INT;
  }
  const int* root_counts = root ? counts : kUnreadable;
  const int* root_displs = root ? displs : kUnreadable;

  if (started) {
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Barrier(comm);
  }
  CALL(MPI_Bcast, MPI_Ibcast, in, 3, MPI_INT, kRoot, comm)
  CALL(MPI_Gather, MPI_Igather, root_mine, 4, MPI_INT, in, root ? 4 : -99, MPI_INT, kRoot, comm)
  CALL(MPI_Gatherv, MPI_Igatherv, root_mine, rank + 1, MPI_INT, in, root_counts, root_displs,
       MPI_INT, kRoot, comm)
  CALL(MPI_Scatter, MPI_Iscatter, out, root ? 5 : -99, MPI_INT, root_in, 5, MPI_INT, kRoot, comm)
  CALL(MPI_Scatterv, MPI_Iscatterv, out, root_counts, root_displs, MPI_INT, root_in, rank + 1,
       MPI_INT, kRoot, comm)
  CALL(MPI_Allgather, MPI_Iallgather, mine, 6, MPI_INT, in, 6, MPI_INT, comm)
  CALL(MPI_Allgatherv, MPI_Iallgatherv, mine, rank + 1, MPI_INT, in, counts, displs, MPI_INT, comm)
  CALL(MPI_Alltoall, MPI_Ialltoall, mine, 7, MPI_INT, in, 7, MPI_INT, comm)
  /* All to all with counts: rank r gives r + 1 to each; in place, all give 2 to each. */
  int equal[64], places[64], byte_places[64];
  for (int r = 0; r < size; ++r) {
    equal[r] = in_place ? 2 : rank + 1;
    places[r] = r * size;
    byte_places[r] = 4 * places[r];
    if (in_place) counts[r] = 2;
  }
  CALL(MPI_Alltoallv, MPI_Ialltoallv, mine, in_place ? kUnreadable : equal, places, MPI_INT, in,
       counts, places, MPI_INT, comm)
  CALL(MPI_Alltoallw, MPI_Ialltoallw, mine, in_place ? kUnreadable : equal, byte_places, types, in,
       counts, byte_places, types, comm)
  for (int r = 0; r < size; ++r) counts[r] = r + 1;
  CALL(MPI_Reduce, MPI_Ireduce, root_mine, in, 8, MPI_INT, MPI_SUM, kRoot, comm)
  CALL(MPI_Allreduce, MPI_Iallreduce, mine, in, 9, MPI_INT, MPI_SUM, comm)
  CALL(MPI_Reduce_scatter, MPI_Ireduce_scatter, mine, in, counts, MPI_INT, MPI_SUM, comm)
  CALL(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, mine, in, 10, MPI_INT, MPI_SUM, comm)
  CALL(MPI_Scan, MPI_Iscan, mine, in, 11, MPI_INT, MPI_SUM, comm)
  CALL(MPI_Exscan, MPI_Iexscan, mine, in, 12, MPI_INT, MPI_SUM, comm)
  return 0;
}
