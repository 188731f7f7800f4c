// SPDX-License-Identifier: BSD-3-Clause
//
// count_collectives.hpp - bytes of collectives. out: what this rank contributes. in: the result
// that it gets, its own part included. Both are the same with MPI_IN_PLACE. Reads only arguments
// that are significant on this rank. n is the number of ranks (in an inter-communicator: of the
// other group); sizes are true sizes of the types.
#pragma once

#include "call.hpp"
#include "peers.hpp"
#include "requests.hpp"

namespace perfield::pmpi {

template <typename Count>
uint64_t sum_of(const Count* counts, int n) {
  uint64_t sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<uint64_t>(counts[i]);
  return sum;
}

// Types are MPI_Datatype, or convert to it.
template <typename Count, typename Type>
uint64_t bytes_of_all(const Count* counts, const Type* types, int n) {
  uint64_t sum = 0;
  for (int i = 0; i < n; ++i) sum += bytes_of(counts[i], types[i]);
  return sum;
}

// The part of this rank in a call with a root. In an inter-communicator the root passes MPI_ROOT
// and the others of its group MPI_PROC_NULL; the root itself has no part among the ranks.
enum class Part { root, other, none };
inline Part part(const Peers& peers, int root) {
  if (root == MPI_PROC_NULL) return Part::none;
  return root == MPI_ROOT || (!peers.inter && root == peers.me) ? Part::root : Part::other;
}
inline bool in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }

// --- one to all, all to one ----------------------------------------------------------------------
// bcast: out = count at the root, in = count elsewhere.
template <typename Type>
inline void count_bcast(Call& call, MPI_Count count, Type type, int root, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers || part(*peers, root) == Part::none) return;
  (part(*peers, root) == Part::root ? call.bytes_out : call.bytes_in) = bytes_of(count, type);
}

// reduce: out = count, in = count at the root.
template <typename Type>
inline void count_reduce(Call& call, MPI_Count count, Type type, int root, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers || part(*peers, root) == Part::none) return;
  const bool at_root = part(*peers, root) == Part::root;
  if (!(at_root && peers->inter)) call.bytes_out = bytes_of(count, type);
  if (at_root) call.bytes_in = bytes_of(count, type);
}

// gather(v): out = sendcount, in = n * recvcount (sum of recvcounts) at the root.
template <typename Type>
inline void count_gather(Call& call, const void* sendbuf, MPI_Count sendcount, Type sendtype,
                         MPI_Count recvcount, Type recvtype, int root, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers || part(*peers, root) == Part::none) return;
  const bool at_root = part(*peers, root) == Part::root;
  if (at_root) call.bytes_in = bytes_of(recvcount, recvtype) * peers->size;
  if (at_root && in_place(sendbuf))
    call.bytes_out = bytes_of(recvcount, recvtype);
  else if (!(at_root && peers->inter))
    call.bytes_out = bytes_of(sendcount, sendtype);
}

template <typename Count, typename Type>
void count_gatherv(Call& call, const void* sendbuf, MPI_Count sendcount, Type sendtype,
                   const Count* recvcounts, Type recvtype, int root, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers || part(*peers, root) == Part::none) return;
  const bool at_root = part(*peers, root) == Part::root;
  if (at_root) call.bytes_in = bytes_of(sum_of(recvcounts, peers->size), recvtype);
  if (at_root && in_place(sendbuf))
    call.bytes_out = bytes_of(recvcounts[peers->me], recvtype);
  else if (!(at_root && peers->inter))
    call.bytes_out = bytes_of(sendcount, sendtype);
}

// scatter(v): out = n * sendcount (sum of sendcounts) at the root, in = recvcount.
template <typename Type>
inline void count_scatter(Call& call, MPI_Count sendcount, Type sendtype, const void* recvbuf,
                          MPI_Count recvcount, Type recvtype, int root, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers || part(*peers, root) == Part::none) return;
  const bool at_root = part(*peers, root) == Part::root;
  if (at_root) call.bytes_out = bytes_of(sendcount, sendtype) * peers->size;
  if (at_root && in_place(recvbuf))
    call.bytes_in = bytes_of(sendcount, sendtype);
  else if (!(at_root && peers->inter))
    call.bytes_in = bytes_of(recvcount, recvtype);
}

template <typename Count, typename Type>
void count_scatterv(Call& call, const Count* sendcounts, Type sendtype, const void* recvbuf,
                    MPI_Count recvcount, Type recvtype, int root, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers || part(*peers, root) == Part::none) return;
  const bool at_root = part(*peers, root) == Part::root;
  if (at_root) call.bytes_out = bytes_of(sum_of(sendcounts, peers->size), sendtype);
  if (at_root && in_place(recvbuf))
    call.bytes_in = bytes_of(sendcounts[peers->me], sendtype);
  else if (!(at_root && peers->inter))
    call.bytes_in = bytes_of(recvcount, recvtype);
}

// --- all to all ----------------------------------------------------------------------------------
// allgather(v): out = sendcount, in = n * recvcount (sum of recvcounts).
template <typename Type>
inline void count_allgather(Call& call, const void* sendbuf, MPI_Count sendcount, Type sendtype,
                            MPI_Count recvcount, Type recvtype, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers) return;
  const uint64_t block = bytes_of(recvcount, recvtype);
  call.bytes_out = in_place(sendbuf) ? block : bytes_of(sendcount, sendtype);
  call.bytes_in = block * peers->size;
}

template <typename Count, typename Type>
void count_allgatherv(Call& call, const void* sendbuf, MPI_Count sendcount, Type sendtype,
                      const Count* recvcounts, Type recvtype, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers) return;
  call.bytes_out =
      in_place(sendbuf) ? bytes_of(recvcounts[peers->me], recvtype) : bytes_of(sendcount, sendtype);
  call.bytes_in = bytes_of(sum_of(recvcounts, peers->size), recvtype);
}

// alltoall(v, w): out = n * sendcount (sums), in = n * recvcount (sums).
template <typename Type>
inline void count_alltoall(Call& call, const void* sendbuf, MPI_Count sendcount, Type sendtype,
                           MPI_Count recvcount, Type recvtype, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers) return;
  call.bytes_in = bytes_of(recvcount, recvtype) * peers->size;
  call.bytes_out = in_place(sendbuf) ? call.bytes_in : bytes_of(sendcount, sendtype) * peers->size;
}

template <typename Count, typename Type>
void count_alltoallv(Call& call, const void* sendbuf, const Count* sendcounts, Type sendtype,
                     const Count* recvcounts, Type recvtype, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers) return;
  call.bytes_in = bytes_of(sum_of(recvcounts, peers->size), recvtype);
  call.bytes_out =
      in_place(sendbuf) ? call.bytes_in : bytes_of(sum_of(sendcounts, peers->size), sendtype);
}

template <typename Count, typename Type>
void count_alltoallw(Call& call, const void* sendbuf, const Count* sendcounts,
                     const Type* sendtypes, const Count* recvcounts, const Type* recvtypes,
                     MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers) return;
  call.bytes_in = bytes_of_all(recvcounts, recvtypes, peers->size);
  call.bytes_out =
      in_place(sendbuf) ? call.bytes_in : bytes_of_all(sendcounts, sendtypes, peers->size);
}

// --- reductions ----------------------------------------------------------------------------------
// allreduce, scan: out = in = count. exscan: the first rank gets nothing.
template <typename Type>
inline void count_allreduce(Call& call, MPI_Count count, Type type) {
  call.bytes_out = call.bytes_in = bytes_of(count, type);
}

template <typename Type>
inline void count_exscan(Call& call, MPI_Count count, Type type, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  call.bytes_out = bytes_of(count, type);
  if (peers && peers->me > 0) call.bytes_in = call.bytes_out;
}

// reduce_scatter: out = sum of recvcounts (n * recvcount), in = this rank's own; here n is the
// number of ranks of this rank's own group.
template <typename Count, typename Type>
void count_reduce_scatter(Call& call, const Count* recvcounts, Type type, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers) return;
  call.bytes_out = bytes_of(sum_of(recvcounts, peers->local_size), type);
  call.bytes_in = bytes_of(recvcounts[peers->me], type);
}

template <typename Type>
inline void count_reduce_scatter_block(Call& call, MPI_Count recvcount, Type type, MPI_Comm comm) {
  const Peers* peers = peers_of(comm);
  if (!peers) return;
  call.bytes_in = bytes_of(recvcount, type);
  call.bytes_out = call.bytes_in * peers->local_size;
}

// --- operations ----------------------------------------------------------------------------------
// Collective operations of a communicator are begun in the same order on all its ranks, so their
// numbers agree. These rules come after those that count bytes.
inline uint32_t next_number(std::atomic<uint32_t>& n) noexcept {
  if (library.concurrent) return n.fetch_add(1, std::memory_order_relaxed) + 1;
  const uint32_t number = n.load(std::memory_order_relaxed) + 1;
  n.store(number, std::memory_order_relaxed);
  return number;
}

// The program waits for it in this call.
inline void count_collective(Call& call, Peers& peers, uint32_t flags) {
  if (call.asks_of_all() && peers.is_of_world()) call.is_of_all();
  const uint32_t number = next_number(peers.n_collectives);
  if (!call.entered) return;
  perfield_collective done{};
  done.call = call.kind;
  done.communicator = peers.name;
  done.number = peers.name ? number : 0;
  done.flags = flags;
  done.bytes_out = call.bytes_out;
  done.bytes_in = call.bytes_in;
  done.begun = done.wait_begin = call.entered;
  done.wait_end = call.left;
  call.left = perfield_collective_done(&done);
}

// The program waits for it when it completes the request.
inline void remember_collective(Call& call, Peers& peers, uint32_t flags, MPI_Request request) {
  if (request == library.done_request) return count_collective(call, peers, flags);
  const uint32_t number = next_number(peers.n_collectives);
  if (!call.entered) return;
  Pending pending;
  pending.handle = request;
  pending.kind = Pending::collective;
  pending.call = static_cast<uint16_t>(call.kind);
  pending.id = {peers.name, peers.name ? number : 0};
  pending.peer = static_cast<int32_t>(flags);
  pending.bytes = call.bytes_out;
  pending.bytes_in = call.bytes_in;
  pending.begun = call.entered;
  requests.add(pending);
}

inline uint32_t flags_of(const Peers& peers, int root) {
  return part(peers, root) == Part::root ? PERFIELD_COLLECTIVE_ROOT : 0;
}
inline void follow_collective(Call& call, MPI_Comm comm) {
  if (Peers* peers = peers_of(comm)) count_collective(call, *peers, 0);
}
inline void follow_collective(Call& call, int root, MPI_Comm comm) {
  if (Peers* peers = peers_of(comm)) count_collective(call, *peers, flags_of(*peers, root));
}
inline void follow_icollective(Call& call, MPI_Comm comm, const MPI_Request* request) {
  if (Peers* peers = peers_of(comm)) remember_collective(call, *peers, 0, *request);
}
inline void follow_icollective(Call& call, int root, MPI_Comm comm, const MPI_Request* request) {
  Peers* peers = peers_of(comm);
  if (peers) remember_collective(call, *peers, flags_of(*peers, root), *request);
}

}  // namespace perfield::pmpi
