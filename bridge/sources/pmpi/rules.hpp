// SPDX-License-Identifier: BSD-3-Clause
//
// rules.hpp - the rules of table/*.table: what a call counts after it succeeds. count_ rules run
// between enter and leave of a measured call; follow_ rules also run while measuring is paused, and
// number messages and collectives then, too. All run on the thread that makes the call. Arguments
// are those of the call.
#pragma once

#include "call.hpp"
#include "count_collectives.hpp"
#include "count_neighbors.hpp"
#include "count_windows.hpp"
#include "names.hpp"
#include "peers.hpp"
#include "requests.hpp"

namespace perfield::pmpi {

// --- sends and receives --------------------------------------------------------------------------
// A message on a communicator that MPI does not show us.
template <typename Type>
[[gnu::noinline]] inline void count_send_unknown(perfield_call kind, uint64_t entered,
                                                 MPI_Count count, Type type) {
  if (entered) perfield_message(kind, kPeerUnknown, bytes_of(count, type));
}

// The message that the call sends to one of those peers; the program waits for it in this call.
template <typename Type>
[[gnu::always_inline]] inline void follow_sent(Call& call, int dest, int tag, MPI_Count count,
                                               Type type, Peers* peers) {
  if (!peers) return count_send_unknown(call.kind, call.entered, count, type);
  const int32_t peer = peers->world_rank(dest);
  const perfield_message_id id =
      channels.next(*peers, Side::sent, peer, channel_of(peers->name, tag));
  if (!call.entered) return;
  call.left = perfield_msg_send_blocking(call.kind, peer, bytes_of(count, type), call.entered,
                                         call.left, id);
}

template <typename Type>
[[gnu::always_inline]] inline void follow_send(Call& call, int dest, int tag, MPI_Count count,
                                               Type type, MPI_Comm comm) {
  if (dest != MPI_PROC_NULL) follow_sent(call, dest, tag, count, type, peers_of(comm));
}

// The same, but the program waits for it when it completes the request.
template <typename Type>
[[gnu::always_inline]] inline void follow_isend(Call& call, int dest, int tag, MPI_Count count,
                                                Type type, MPI_Comm comm,
                                                const MPI_Request* request) {
  // MPI has taken it already.
  if (*request == library.done_request) return follow_send(call, dest, tag, count, type, comm);
  if (dest == MPI_PROC_NULL) return;
  Peers* peers = peers_of(comm);
  if (!peers) return count_send_unknown(call.kind, call.entered, count, type);
  const int32_t peer = peers->world_rank(dest);
  const perfield_message_id id =
      channels.next(*peers, Side::sent, peer, channel_of(peers->name, tag));
  if (!call.entered) return;
  const uint32_t logged =
      perfield_msg_send(call.kind, peer, bytes_of(count, type), call.entered, id);
  if (!logged) return;
  requests.add(*request, [&](Pending& slot) {
    slot.kind = Pending::send;
    slot.flags = 0;
    slot.call = static_cast<uint16_t>(call.kind);
    slot.peer = peer;
    slot.id.number = logged;
  });
}

// The same where another message has the request.
template <typename Type>
inline void follow_send_beside(Call& call, int dest, int tag, MPI_Count count, Type type,
                               MPI_Comm comm) {
  if (dest == MPI_PROC_NULL) return;
  Peers* peers = peers_of(comm);
  if (!peers) return count_send_unknown(call.kind, call.entered, count, type);
  const int32_t peer = peers->world_rank(dest);
  const perfield_message_id id =
      channels.next(*peers, Side::sent, peer, channel_of(peers->name, tag));
  if (call.entered) perfield_msg_send(call.kind, peer, bytes_of(count, type), call.entered, id);
}

// The message that the call has received from one of those peers.
[[gnu::always_inline]] inline void follow_received(Call& call, int source, int tag,
                                                   const MPI_Status& status, Peers* peers,
                                                   uint32_t blocking) {
  int32_t peer = kPeerUnknown;
  perfield_message_id id{0, 0};
  if (__builtin_expect(peers != nullptr, 1)) {
    peer = peers->world_rank(status.MPI_SOURCE);
    id = channels.next_received(*peers, peer, channel_of(peers->name, status.MPI_TAG));
  }
  if (!call.entered) return;
  const bool wildcard = source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG;
  const perfield_msg_recv arrival{peer,
                                  blocking | (wildcard ? uint32_t{PERFIELD_RECV_WILDCARD} : 0),
                                  bytes_of(status),
                                  call.entered,
                                  call.entered,
                                  call.left,
                                  id};
  call.left = perfield_msg_recv_complete(&arrival);
}

[[gnu::always_inline]] inline void follow_receive(Call& call, int source, int tag,
                                                  const MPI_Status* status, MPI_Comm comm) {
  if (status->MPI_SOURCE != MPI_PROC_NULL)
    follow_received(call, source, tag, *status, peers_of(comm), PERFIELD_RECV_BLOCKING);
}

// A message sent and one received, by the same call.
template <typename Type>
[[gnu::always_inline]] inline void follow_exchange(Call& call, int dest, int send_tag,
                                                   MPI_Count count, Type type, int source,
                                                   int receive_tag, const MPI_Status* status,
                                                   MPI_Comm comm) {
  Peers* peers = peers_of(comm);
  if (dest != MPI_PROC_NULL) follow_sent(call, dest, send_tag, count, type, peers);
  if (status->MPI_SOURCE != MPI_PROC_NULL)
    follow_received(call, source, receive_tag, *status, peers, 0);
}

// --- requests that will receive, and persistent ones ---------------------------------------------
// What to remember of a receive, but for its id.
inline Pending pending_receive(Pending::Kind kind, int source, uint64_t room, Peers* peers,
                               MPI_Request request) {
  Pending pending;
  pending.bytes = room;
  pending.handle = request;
  pending.kind = kind;
  if (source == MPI_ANY_SOURCE)
    pending.peer = Channels::kAnyPeer;
  else
    pending.peer = peers ? peers->world_rank(source) : kPeerUnknown;
  return pending;
}

// A receive that the full table cannot hold counts when it is posted, with the size it asks for.
inline void remember_receive(const Pending& pending) {
  if (__builtin_expect(requests.add(pending), 1)) return;
  let_go(pending);
  if (pending.begun) perfield_message(PERFIELD_CALL_recv, kPeerUnknown, pending.bytes);
}

// A wildcard, or a receive on a communicator that MPI does not show us.
[[gnu::noinline]] inline void post_slowly(uint64_t entered, int source, int tag, uint64_t room,
                                          Peers* peers, MPI_Request request) {
  Pending pending = pending_receive(Pending::receive, source, room, peers, request);
  pending.begun = entered;
  if (peers) {
    peers->keep();
    pending.peers = peers;
    pending.flags = Pending::wildcard;
    pending.id = {static_cast<uint32_t>(tag), channels.post_wildcard(*peers, pending.peer, tag)};
  } else {
    pending.peer = kPeerUnknown;
  }
  remember_receive(pending);
}

template <typename Type>
[[gnu::always_inline]] inline void follow_post(Call& call, int source, int tag, MPI_Count count,
                                               Type type, MPI_Comm comm,
                                               const MPI_Request* request) {
  if (source == MPI_PROC_NULL) return;
  Peers* peers = peers_of(comm);
  const uint64_t room = bytes_of(count, type);
  if (__builtin_expect(!peers || source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG, 0))
    return post_slowly(call.entered, source, tag, room, peers, *request);
  const int32_t peer = peers->world_rank(source);
  const perfield_message_id id = channels.next_received(*peers, peer, channel_of(peers->name, tag));
  const bool has_room = requests.add(*request, [&](Pending& slot) {
    slot.kind = Pending::receive;
    slot.flags = 0;
    slot.bytes = room;
    slot.begun = call.entered;
    slot.peer = peer;
    slot.id = id;
  });
  if (__builtin_expect(!has_room && call.entered, 0))
    perfield_message(PERFIELD_CALL_recv, kPeerUnknown, room);
}

inline void keep_send(int dest, int tag, uint64_t bytes, MPI_Comm comm, MPI_Request request) {
  Peers* peers = peers_of(comm);
  if (!peers) return;
  Pending pending;
  pending.handle = request;
  pending.kind = Pending::kept_send;
  pending.call = PERFIELD_CALL_start;
  pending.bytes = bytes;
  pending.peer = peers->world_rank(dest);
  pending.peers = peers;
  pending.id.channel = channel_of(peers->name, tag);
  if (requests.add(pending)) peers->keep();
}

template <typename Type>
inline void follow_keep_send(Call&, int dest, int tag, MPI_Count count, Type type, MPI_Comm comm,
                             const MPI_Request* request) {
  if (dest != MPI_PROC_NULL) keep_send(dest, tag, bytes_of(count, type), comm, *request);
}

inline void keep_receive(int source, int tag, uint64_t room, MPI_Comm comm, MPI_Request request,
                         uint8_t flags) {
  Peers* peers = peers_of(comm);
  if (!peers) return;
  Pending pending = pending_receive(Pending::kept_receive, source, room, peers, request);
  pending.flags = flags;
  pending.peers = peers;
  if (source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) {
    pending.flags |= Pending::wildcard;
    pending.id.channel = static_cast<uint32_t>(tag);
  } else {
    pending.id.channel = channel_of(peers->name, tag);
  }
  if (requests.add(pending)) peers->keep();
}

template <typename Type>
inline void follow_keep_receive(Call&, int source, int tag, MPI_Count count, Type type,
                                MPI_Comm comm, const MPI_Request* request) {
  if (source != MPI_PROC_NULL) keep_receive(source, tag, bytes_of(count, type), comm, *request, 0);
}

// Partitioned: one message for all partitions.
template <typename Type>
inline void follow_keep_parts_sent(Call&, int dest, int tag, int partitions, MPI_Count count,
                                   Type type, MPI_Comm comm, const MPI_Request* request) {
  if (dest != MPI_PROC_NULL)
    keep_send(dest, tag_in_parts(tag), bytes_of(partitions * count, type), comm, *request);
}

template <typename Type>
inline void follow_keep_parts_received(Call&, int source, int tag, int partitions, MPI_Count count,
                                       Type type, MPI_Comm comm, const MPI_Request* request) {
  if (source != MPI_PROC_NULL)
    keep_receive(source, tag_in_parts(tag), bytes_of(partitions * count, type), comm, *request,
                 Pending::in_parts);
}

inline void follow_cancel(Call&, const MPI_Request* request) { requests.cancel(*request); }

// --- probes --------------------------------------------------------------------------------------
// Another call must not read that as a message: it has only been found.
inline void count_found(Call& call, int32_t peer, perfield_message_id id) {
  if (!call.entered) return;
  const perfield_synchronisation found{call.kind, peer, 0, id, call.polled_since(), call.left};
  call.left = perfield_synchronised(&found);
}

// Apart from the fast path, on which a probe finds nothing and the call stays in registers.
[[gnu::noinline]] inline uint64_t probed(perfield_call kind, uint64_t since, uint64_t left,
                                         const MPI_Status& status, MPI_Comm comm) {
  Peers* peers = status.MPI_SOURCE == MPI_PROC_NULL ? nullptr : peers_of(comm);
  if (!peers) return left;
  const int32_t peer = peers->world_rank(status.MPI_SOURCE);
  const perfield_synchronisation found{
      kind,  peer, 0, channels.probed(*peers, peer, channel_of(peers->name, status.MPI_TAG)),
      since, left};
  return perfield_synchronised(&found);
}

[[gnu::always_inline]] inline void count_probed(Call& call, const MPI_Status* status,
                                                MPI_Comm comm) {
  call.left = probed(call.kind, call.polled_since(), call.left, *status, comm);
}

[[gnu::always_inline]] inline void count_probed_if(Call& call, const int* flag,
                                                   const MPI_Status* status, MPI_Comm comm) {
  if (*flag)
    count_probed(call, status, comm);
  else
    call.leave_unanswered();
}

// Of a call that completes nothing.
inline void count_looked(Call& call) { call.leave_unanswered(); }

// --- matched messages ----------------------------------------------------------------------------
// It has its id from now on. Its receive names neither source nor tag.
inline void follow_match(Call& call, const MPI_Message* message, const MPI_Status* status,
                         MPI_Comm comm) {
  if (status->MPI_SOURCE == MPI_PROC_NULL) return;
  Pending pending;
  pending.handle = *message;
  pending.kind = Pending::message;
  pending.peer = kPeerUnknown;
  if (Peers* peers = peers_of(comm)) {
    pending.peer = peers->world_rank(status->MPI_SOURCE);
    pending.id =
        channels.next_received(*peers, pending.peer, channel_of(peers->name, status->MPI_TAG));
  }
  requests.add(pending);
  count_found(call, pending.peer, pending.id);
}

inline void follow_match_if(Call& call, const int* flag, const MPI_Message* message,
                            const MPI_Status* status, MPI_Comm comm) {
  if (*flag)
    follow_match(call, message, status, comm);
  else
    call.leave_unanswered();
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

inline void count_receive_taken(Call& call, Pending taken, const MPI_Status* status) {
  if (taken.kind != Pending::message) return;
  taken.kind = Pending::receive;
  taken.begun = call.entered;
  count_ended(call, taken, status, PERFIELD_RECV_BLOCKING);
}

template <typename Type>
inline void follow_post_taken(Call& call, Pending taken, MPI_Count count, Type type,
                              const MPI_Request* request) {
  if (taken.kind != Pending::message) return;
  taken.kind = Pending::receive;
  taken.handle = *request;
  taken.bytes = bytes_of(count, type);
  taken.begun = call.entered;
  remember_receive(taken);
}

// --- communicators -------------------------------------------------------------------------------
inline void follow_child(Call&, const MPI_Comm* child) {
  if (*child == library.comm_null) return;
  Peers* peers = find_new_peers(*child);
  // MPI_Comm_create_group of Open MPI copies attributes to a communicator of other ranks.
  if (peers && peers == last_copied()) peers = renew_peers(*child);
  name_new(*child, peers);
}

inline void follow_grid(Call& call, const MPI_Comm* child) {
  follow_child(call, child);
  if (*child != library.comm_null) describe_grid(*child, find_new_peers(*child));
}

inline void follow_duplicate(Call&, const MPI_Comm* child) {
  if (*child != library.comm_null) name_new(*child, find_new_peers(*child));
}

// A duplicate that is not complete yet: the copy of an attribute shows what it will be.
inline void before_idup(Call&) {
  if (following()) forget_copied();
}
inline void follow_idup(Call&, MPI_Comm parent) { name_new(parent, last_copied()); }

// --- files ---------------------------------------------------------------------------------------
inline void count_read_done(Call& call, const MPI_Status* status) {
  call.bytes_in = bytes_of(*status);
}
inline void count_write_done(Call& call, const MPI_Status* status) {
  call.bytes_out = bytes_of(*status);
}
template <typename Type>
inline void count_read_request(Call& call, MPI_Count count, Type type) {
  call.bytes_in = bytes_of(count, type);
}
template <typename Type>
inline void count_write_request(Call& call, MPI_Count count, Type type) {
  call.bytes_out = bytes_of(count, type);
}

}  // namespace perfield::pmpi
