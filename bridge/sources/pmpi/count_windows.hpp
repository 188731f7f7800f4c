// SPDX-License-Identifier: BSD-3-Clause
//
// count_windows.hpp - windows: their transfers, and what synchronises these. A fence is a
// collective operation on the communicator on which the window was made. MPI_Win_post and _wait on
// the one side, MPI_Win_start and _complete on the other bound epochs; the nth epoch of an origin
// on a target is the nth one of the target for that origin, so both count them. For whom a lock
// waits only the times of all ranks show.
#pragma once

#include "call.hpp"
#include "channels.hpp"
#include "count_collectives.hpp"
#include "names.hpp"
#include "peers.hpp"

namespace perfield::pmpi {

inline void follow_window(Call&, MPI_Comm comm, const MPI_Win* window) {
  Peers* peers = peers_of(comm);
  Peers* of_window = peers ? peers_of_window(*window) : nullptr;
  if (!of_window || of_window->made_on) return;
  peers->keep();
  of_window->made_on = peers;
  of_window->name = name_of_window(peers->name, next_number(peers->n_windows));
}

// --- transfers -----------------------------------------------------------------------------------
// A message without a number: no receive will report it. Its channel is the window's name.
template <typename Type>
inline void count_transfer(Call& call, int target, MPI_Count count, Type type, MPI_Win window) {
  if (target == MPI_PROC_NULL) return;
  Peers* peers = peers_of_window(window);
  const int32_t peer = peers ? peers->world_rank(target) : kPeerUnknown;
  const perfield_message_id id{peers ? peers->name : 0, 0};
  call.left = perfield_msg_send_blocking(call.kind, peer, bytes_of(count, type), call.entered,
                                         call.left, id);
}

template <typename Type>
inline void count_transfer_by(Call& call, MPI_Op op, int target, MPI_Count count, Type type,
                              MPI_Win window) {
  const bool only_fetches = op == library.no_op;
  count_transfer(call, target, only_fetches ? 0 : count, type, window);
}

// --- fence, post, start, complete, wait ----------------------------------------------------------
inline void follow_fence(Call& call, MPI_Win window) {
  Peers* peers = peers_of_window(window);
  if (peers && peers->made_on) count_collective(call, *peers->made_on, 0);
}

// entered: of the call; the stamp of its return, if it cannot have waited.
inline void log_synchronisations(Call& call, const Epoch* epoch, uint32_t channel,
                                 uint64_t entered) {
  if (!call.entered || !epoch) return;
  for (int i = 0; i < epoch->n; ++i) {
    const Epoch::Partner& partner = epoch->partners[i];
    const perfield_synchronisation done{call.kind, partner.peer, 0, {channel, partner.number},
                                        entered,   call.left};
    call.left = perfield_synchronised(&done);
  }
}

inline void begin_epoch(Call& call, Side side, Epoch*& epoch, MPI_Group group, Peers& window) {
  if (!begin_epoch(epoch, group)) {
    channels.n_lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  for (int i = 0; i < epoch->n && window.name; ++i) {
    Epoch::Partner& partner = epoch->partners[i];
    partner.number = channels.next(window, side, partner.peer, window.name).number;
  }
  log_synchronisations(call, epoch, window.name, call.entered);
}

inline void end_epoch(Call& call, Epoch* epoch, const Peers& window, uint64_t entered) {
  if (!epoch) return;
  log_synchronisations(call, epoch, end_of_epoch(window.name), entered);
  epoch->n = 0;
}

// The origin's side.
inline void follow_win_start(Call& call, MPI_Group group, MPI_Win window) {
  Peers* peers = peers_of_window(window);
  if (peers) begin_epoch(call, Side::sent, peers->access, group, *peers);
}
inline void follow_win_complete(Call& call, MPI_Win window) {
  Peers* peers = peers_of_window(window);
  if (peers) end_epoch(call, peers->access, *peers, call.entered);
}

// The target's side.
inline void follow_win_post(Call& call, MPI_Group group, MPI_Win window) {
  Peers* peers = peers_of_window(window);
  if (peers) begin_epoch(call, Side::received, peers->exposure, group, *peers);
}
inline void follow_win_wait(Call& call, MPI_Win window) {
  Peers* peers = peers_of_window(window);
  if (peers) end_epoch(call, peers->exposure, *peers, call.entered);
}
// A test that is the first never waits.
inline void follow_win_test(Call& call, const int* flag, MPI_Win window) {
  if (!*flag) return call.leave_unanswered();
  Peers* peers = peers_of_window(window);
  if (!peers) return;
  if (call.entered && !call.left) call.left = perfield_source_ticks();
  const bool has_polled = call.polled_since() != call.entered;
  end_epoch(call, peers->exposure, *peers, has_polled ? call.polled_since() : call.left);
}

inline void before_group_free(Call&, const MPI_Group* group) {
  if (library.started) forget_group(*group);
}

// --- locks ---------------------------------------------------------------------------------------
inline constexpr int kAllRanks = INT32_MIN;  // no rank, and no constant of MPI

inline void count_of_lock(Call& call, int target, uint32_t flags, MPI_Win window) {
  if (target == MPI_PROC_NULL) return;
  Peers* peers = peers_of_window(window);
  if (!peers) return;
  const perfield_synchronisation done{
      call.kind,    target == kAllRanks ? kEveryPeer : peers->world_rank(target),
      flags,        {peers->name, 0},
      call.entered, call.left};
  call.left = perfield_synchronised(&done);
}

// A lock without a check takes none.
inline void count_lock(Call& call, int type, int target, int assertion, MPI_Win window) {
  if (assertion & MPI_MODE_NOCHECK) return;
  const bool is_exclusive = type == MPI_LOCK_EXCLUSIVE;
  count_of_lock(call, target, is_exclusive ? uint32_t{PERFIELD_LOCK_EXCLUSIVE} : 0, window);
}
inline void count_lock_all(Call& call, int assertion, MPI_Win window) {
  if (!(assertion & MPI_MODE_NOCHECK)) count_of_lock(call, kAllRanks, 0, window);
}
// An unlock or a flush, of one rank or of all.
inline void count_under_lock(Call& call, int target, MPI_Win window) {
  count_of_lock(call, target, 0, window);
}
inline void count_under_locks(Call& call, MPI_Win window) {
  count_of_lock(call, kAllRanks, 0, window);
}

}  // namespace perfield::pmpi
