/* SPDX-License-Identifier: BSD-3-Clause
 *
 * neighbors.c - neighbourhood collectives on a line of ranks with ends (`line`), on a ring with
 * weights (`graph`), or on the older kind of graph (`old_graph`). To the i-th neighbour of the
 * buffer the v and w forms give i + 1 integers; the others give 3 or 4 to each. */
#include "calls.h"

#define CALL(function, ...)                        \
  MPI_Neighbor_##function(__VA_ARGS__);            \
  MPI_Ineighbor_##function(__VA_ARGS__, &request); \
  MPI_Wait(&request, MPI_STATUS_IGNORE);

int neighbors(const char* what) {
  static int out[64], in[64];
  MPI_Comm topology;
  MPI_Request request;
  int places[2] = {0, 8}, one = 1, zero = 0;
  /* 1 to the left, 2 to the right (in the graph with one neighbour: 1); so from the left come 2. */
  int sends[2] = {1, 2}, receives[2] = {2, 1};
  MPI_Aint byte_places[2] = {0, 32};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  if (strcmp(what, "line") == 0) {
    MPI_Cart_create(comm, 1, &size, &zero, 0, &topology);
  } else if (strcmp(what, "graph") == 0) {
    sends[0] = receives[0] = 1;
    MPI_Dist_graph_create_adjacent(comm, 1, &left, &one, 1, &right, &one, MPI_INFO_NULL, 0,
                                   &topology);
  } else {
    int index[64], edges[128];
    for (int r = 0; r < size; ++r) {
      index[r] = 2 * (r + 1);
      edges[2 * r] = (r + size - 1) % size;
      edges[2 * r + 1] = (r + 1) % size;
    }
    MPI_Graph_create(comm, size, index, edges, 0, &topology);
  }
  CALL(allgather, out, 3, MPI_INT, in, 3, MPI_INT, topology)
  int threes[2] = {3, 3};
  CALL(allgatherv, out, 3, MPI_INT, in, threes, places, MPI_INT, topology)
  CALL(alltoall, out, 4, MPI_INT, in, 4, MPI_INT, topology)
  CALL(alltoallv, out, sends, places, MPI_INT, in, receives, places, MPI_INT, topology)
  CALL(alltoallw, out, sends, byte_places, types, in, receives, byte_places, types, topology)
  MPI_Comm_free(&topology);
  return 0;
}
