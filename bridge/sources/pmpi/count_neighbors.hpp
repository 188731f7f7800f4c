// SPDX-License-Identifier: BSD-3-Clause
//
// count_neighbors.hpp - neighbourhood collectives: one message to each destination of the topology
// and one from each source, counted at the call (both sides must agree on the size). Neighbours
// beyond the edge of a grid do not count. All neighbours take part in each operation, so the number
// of a message follows from that of the operation. How long a non-blocking one was waited for is
// not known.
#pragma once

#include "call.hpp"
#include "channels.hpp"
#include "count_collectives.hpp"
#include "peers.hpp"

namespace perfield::pmpi {

// Whether the call that counts so returns before its messages have come.
constexpr bool returns_at_once(perfield_call call) noexcept {
  return call == PERFIELD_CALL_ineighbor_allgather || call == PERFIELD_CALL_ineighbor_allgatherv ||
         call == PERFIELD_CALL_ineighbor_alltoall || call == PERFIELD_CALL_ineighbor_alltoallv ||
         call == PERFIELD_CALL_ineighbor_alltoallw;
}

// Counts messages of out(i) bytes to the destinations and of in(i) bytes from the sources.
// Reads a datatype only for a neighbour that gets or sends something, because the program may pass
// MPI_DATATYPE_NULL on a side without neighbours.
template <typename Out, typename In>
void count_neighbors(Call& call, MPI_Comm comm, Out out, In in) {
  Peers* peers = peers_of(comm);
  const Neighbors* all = peers ? peers->neighbors(comm) : nullptr;
  if (!all) return;
  const uint32_t operation = next_number(peers->n_neighborhood);
  if (!call.entered) return;
  const bool waits = !returns_at_once(call.kind);
  const uint32_t channel = peers->name ? channel_of(peers->name, kNeighborTag) : 0;
  const int n = all->n_sources + all->n_destinations;
  const Neighbors::Repeats* repeats = all->repeats();
  const auto id = [&](int i) -> perfield_message_id {
    const Neighbors::Repeats& of_this = repeats[i];
    return {channel, channel && of_this.times ? (operation - 1) * of_this.times + of_this.nth : 0};
  };
  for (int i = all->n_sources; i < n; ++i) {
    if (all->ranks[i] == kNoNeighbor) continue;
    const uint64_t bytes = out(i - all->n_sources);
    if (waits)
      call.left = perfield_msg_send_blocking(call.kind, all->ranks[i], bytes, call.entered,
                                             call.left, id(i));
    else
      perfield_msg_send(call.kind, all->ranks[i], bytes, call.entered, id(i));
  }
  for (int i = 0; i < all->n_sources; ++i) {
    if (all->ranks[i] == kNoNeighbor) continue;
    const perfield_msg_recv arrival{all->ranks[i], 0,         in(i), call.entered,
                                    call.entered,  call.left, id(i)};
    if (waits)
      call.left = perfield_msg_recv_complete(&arrival);
    else
      perfield_message(PERFIELD_CALL_recv, arrival.peer, arrival.bytes);
  }
}

template <typename Type>
inline void follow_neighbor_allgather(Call& call, MPI_Count sendcount, Type sendtype,
                                      MPI_Count recvcount, Type recvtype, MPI_Comm comm) {
  count_neighbors(
      call, comm, [=](int) { return bytes_of(sendcount, sendtype); },
      [=](int) { return bytes_of(recvcount, recvtype); });
}

template <typename Count, typename Type>
void follow_neighbor_allgatherv(Call& call, MPI_Count sendcount, Type sendtype,
                                const Count* recvcounts, Type recvtype, MPI_Comm comm) {
  count_neighbors(
      call, comm, [=](int) { return bytes_of(sendcount, sendtype); },
      [=](int i) { return bytes_of(recvcounts[i], recvtype); });
}

template <typename Count, typename Type>
void follow_neighbor_alltoallv(Call& call, const Count* sendcounts, Type sendtype,
                               const Count* recvcounts, Type recvtype, MPI_Comm comm) {
  count_neighbors(
      call, comm, [=](int i) { return bytes_of(sendcounts[i], sendtype); },
      [=](int i) { return bytes_of(recvcounts[i], recvtype); });
}

template <typename Count, typename Type>
void follow_neighbor_alltoallw(Call& call, const Count* sendcounts, const Type* sendtypes,
                               const Count* recvcounts, const Type* recvtypes, MPI_Comm comm) {
  count_neighbors(
      call, comm, [=](int i) { return bytes_of(sendcounts[i], sendtypes[i]); },
      [=](int i) { return bytes_of(recvcounts[i], recvtypes[i]); });
}

}  // namespace perfield::pmpi
