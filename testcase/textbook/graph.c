/* SPDX-License-Identifier: BSD-3-Clause
 *
 * graph.c - an unstructured mesh: halos by neighbourhood collectives, and the norm of each step. */
#include "textbook.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  const int neighbours[2] = {(rank + size - 1) % size, (rank + 1) % size}, weights[2] = {1, 1};
  double out[2] = {1, 1}, in[2];
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbours, weights, 2, neighbours, weights,
                                 MPI_INFO_NULL, 0, &graph);
  for (int step = 0; step < n_steps; ++step) {
    for (int stage = 0; stage < 2; ++stage) {
      MPI_Neighbor_alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, graph);
      out[0] = out[1] = work(10);
    }
    sum_over_ranks(in[0]);
  }
  MPI_Comm_free(&graph);
  MPI_Finalize();
}
