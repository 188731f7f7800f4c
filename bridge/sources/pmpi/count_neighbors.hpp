// SPDX-License-Identifier: BSD-3-Clause
//
// count_neighbors.hpp - neighbourhood collectives: one message to each destination of the topology
// and one from each source, counted at the call (both sides must agree on the size). Neighbours
// beyond the edge of a grid do not count.
#pragma once

#include "call.hpp"
#include "peers.hpp"

namespace perfield::pmpi {

// Counts messages of out(i) bytes to the destinations and of in(i) bytes from the sources.
// Reads a datatype only for a neighbour that gets or sends something, because the program may pass
// MPI_DATATYPE_NULL on a side without neighbours.
template <typename Out, typename In>
void count_neighbors(Call& call, MPI_Comm comm, Out out, In in) {
  Peers* peers = peers_of(comm);
  const Neighbors* all = peers ? peers->neighbors(comm) : nullptr;
  if (!all) return;
  const int32_t* destinations = all->ranks + all->n_sources;
  for (int i = 0; i < all->n_destinations; ++i)
    if (destinations[i] != kNoNeighbor) perfield_message(call.kind, destinations[i], out(i));
  for (int i = 0; i < all->n_sources; ++i)
    if (all->ranks[i] != kNoNeighbor) perfield_received(all->ranks[i], in(i));
}

inline void count_neighbor_allgather(Call& call, MPI_Count sendcount, MPI_Datatype sendtype,
                                     MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  count_neighbors(
      call, comm, [=](int) { return bytes_of(sendcount, sendtype); },
      [=](int) { return bytes_of(recvcount, recvtype); });
}

template <typename Count>
void count_neighbor_allgatherv(Call& call, MPI_Count sendcount, MPI_Datatype sendtype,
                               const Count* recvcounts, MPI_Datatype recvtype, MPI_Comm comm) {
  count_neighbors(
      call, comm, [=](int) { return bytes_of(sendcount, sendtype); },
      [=](int i) { return bytes_of(recvcounts[i], recvtype); });
}

template <typename Count>
void count_neighbor_alltoallv(Call& call, const Count* sendcounts, MPI_Datatype sendtype,
                              const Count* recvcounts, MPI_Datatype recvtype, MPI_Comm comm) {
  count_neighbors(
      call, comm, [=](int i) { return bytes_of(sendcounts[i], sendtype); },
      [=](int i) { return bytes_of(recvcounts[i], recvtype); });
}

template <typename Count, typename Type>
void count_neighbor_alltoallw(Call& call, const Count* sendcounts, const Type* sendtypes,
                              const Count* recvcounts, const Type* recvtypes, MPI_Comm comm) {
  count_neighbors(
      call, comm, [=](int i) { return bytes_of(sendcounts[i], sendtypes[i]); },
      [=](int i) { return bytes_of(recvcounts[i], recvtypes[i]); });
}

}  // namespace perfield::pmpi
