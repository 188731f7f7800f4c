// SPDX-License-Identifier: BSD-3-Clause
//
// rules.hpp - the rules of table/*.table: what a call counts after it succeeds. count_ rules run
// between enter and leave of a measured call; follow_ rules also run while measuring is paused. All
// run on the thread that makes the call. Arguments are those of the call.
#pragma once

#include "call.hpp"
#include "count_collectives.hpp"
#include "count_neighbors.hpp"
#include "peers.hpp"
#include "requests.hpp"

namespace perfield::pmpi {

// --- sends and receives --------------------------------------------------------------------------
[[gnu::always_inline]] inline void count_send(Call& call, int dest, MPI_Count count,
                                              MPI_Datatype type, MPI_Comm comm) {
  if (dest != MPI_PROC_NULL)
    perfield_message(call.kind, world_rank(comm, dest), bytes_of(count, type));
}

[[gnu::always_inline]] inline void count_receive_beside(Call&, int, const MPI_Status* status,
                                                        MPI_Comm comm) {
  if (status->MPI_SOURCE != MPI_PROC_NULL)
    perfield_received(world_rank(comm, status->MPI_SOURCE), bytes_of(*status));
}

[[gnu::always_inline]] inline void count_receive(Call& call, int, const MPI_Status* status,
                                                 MPI_Comm comm) {
  if (status->MPI_SOURCE == MPI_PROC_NULL) return;
  const int32_t peer = world_rank(comm, status->MPI_SOURCE);
  call.left = perfield_awaited(peer, bytes_of(*status), call.entered);
}

// --- requests that will receive, and persistent ones ---------------------------------------------
[[gnu::always_inline]] inline Pending pending_receive(Pending::Kind kind, int source, uint64_t room,
                                                      MPI_Comm comm, MPI_Request request) {
  Pending pending;
  pending.bytes = room;
  pending.handle = request;
  pending.kind = kind;
  pending.peer = source == MPI_ANY_SOURCE ? kPeerUnknown : world_rank(comm, source);
  pending.any = source == MPI_ANY_SOURCE ? peers_of(comm) : nullptr;
  if (pending.any) pending.any->keep();
  return pending;
}

// A receive that the full table cannot hold counts when it is posted, with the size it asks for.
[[gnu::always_inline]] inline void remember_receive(Call& call, const Pending& pending) {
  if (requests.add(pending)) return;
  if (pending.any) pending.any->let_go();
  if (call.entered) perfield_received(kPeerUnknown, pending.bytes);
}

[[gnu::always_inline]] inline void follow_post(Call& call, int source, MPI_Count count,
                                               MPI_Datatype type, MPI_Comm comm,
                                               const MPI_Request* request) {
  if (source == MPI_PROC_NULL) return;
  remember_receive(
      call, pending_receive(Pending::receive, source, bytes_of(count, type), comm, *request));
}

inline void follow_keep_send(Call&, int dest, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                             const MPI_Request* request) {
  Pending pending;
  pending.handle = *request;
  pending.kind = Pending::kept_send;
  pending.bytes = bytes_of(count, type);
  if (dest == MPI_PROC_NULL) return;
  pending.peer = world_rank(comm, dest);
  requests.add(pending);
}

inline void keep_receive(int source, uint64_t room, MPI_Comm comm, MPI_Request request,
                         bool in_parts) {
  if (source == MPI_PROC_NULL) return;
  Pending pending = pending_receive(Pending::kept_receive, source, room, comm, request);
  pending.in_parts = in_parts;
  if (!requests.add(pending) && pending.any) pending.any->let_go();
}

inline void follow_keep_receive(Call&, int source, MPI_Count count, MPI_Datatype type,
                                MPI_Comm comm, const MPI_Request* request) {
  keep_receive(source, bytes_of(count, type), comm, *request, false);
}

// Partitioned: one message for all partitions.
inline void follow_keep_parts_sent(Call& call, int dest, int partitions, MPI_Count count,
                                   MPI_Datatype type, MPI_Comm comm, const MPI_Request* request) {
  follow_keep_send(call, dest, partitions * count, type, comm, request);
}

inline void follow_keep_parts_received(Call&, int source, int partitions, MPI_Count count,
                                       MPI_Datatype type, MPI_Comm comm,
                                       const MPI_Request* request) {
  keep_receive(source, bytes_of(partitions * count, type), comm, *request, true);
}

inline void follow_cancel(Call&, const MPI_Request* request) { requests.cancel(*request); }

// --- matched messages ----------------------------------------------------------------------------
inline void follow_match(Call&, const MPI_Message* message, const MPI_Status* status,
                         MPI_Comm comm) {
  if (status->MPI_SOURCE == MPI_PROC_NULL) return;
  Pending pending;
  pending.handle = *message;
  pending.kind = Pending::message;
  pending.peer = world_rank(comm, status->MPI_SOURCE);
  requests.add(pending);
}

inline void follow_match_if(Call& call, const int* flag, const MPI_Message* message,
                            const MPI_Status* status, MPI_Comm comm) {
  if (*flag) follow_match(call, message, status, comm);
}

// Runs before the receive of a matched message, which clears its handle. An unknown message comes
// from an unknown peer.
inline Pending take_message(const MPI_Message* message) {
  Pending taken;
  if (!following() || *message == library.no_message) return taken;
  taken = requests.take(*message);
  if (taken.kind == Pending::none) taken.peer = kPeerUnknown;
  taken.kind = Pending::message;
  return taken;
}

inline void count_receive_taken(Call& call, const Pending& taken, const MPI_Status* status) {
  if (taken.kind == Pending::message) count_awaited(call, taken, *status);
}

inline void follow_post_taken(Call& call, Pending taken, MPI_Count count, MPI_Datatype type,
                              const MPI_Request* request) {
  if (taken.kind != Pending::message) return;
  taken.kind = Pending::receive;
  taken.handle = *request;
  taken.bytes = bytes_of(count, type);
  remember_receive(call, taken);
}

// --- one-sided -----------------------------------------------------------------------------------
inline void count_transfer(Call& call, int target, MPI_Count count, MPI_Datatype type,
                           MPI_Win window) {
  if (target != MPI_PROC_NULL)
    perfield_message(call.kind, world_rank_in_window(window, target), bytes_of(count, type));
}

inline void count_transfer_by(Call& call, MPI_Op op, int target, MPI_Count count, MPI_Datatype type,
                              MPI_Win window) {
  const bool only_fetches = op == library.no_op;
  count_transfer(call, target, only_fetches ? 0 : count, type, window);
}

// --- files ---------------------------------------------------------------------------------------
inline void count_read_done(Call& call, const MPI_Status* status) {
  call.bytes_in = bytes_of(*status);
}
inline void count_write_done(Call& call, const MPI_Status* status) {
  call.bytes_out = bytes_of(*status);
}
inline void count_read_asked(Call& call, MPI_Count count, MPI_Datatype type) {
  call.bytes_in = bytes_of(count, type);
}
inline void count_write_asked(Call& call, MPI_Count count, MPI_Datatype type) {
  call.bytes_out = bytes_of(count, type);
}

}  // namespace perfield::pmpi
