// SPDX-License-Identifier: BSD-3-Clause
//
// requests.cpp - the table of pending requests: open addressing, linear probing; removal closes the
// hole. Under MPI_THREAD_MULTIPLE a lock guards it for some ten nanoseconds; otherwise the program
// keeps threads apart.
#include "requests.hpp"

#include "errors_returned.hpp"

namespace perfield::pmpi {

Requests requests;

bool Requests::add_elsewhere(Pending pending) noexcept {
  Locked locked(lock_);
  uint32_t slot = home(pending.handle);
  for (; slots_[slot].handle; slot = after(slot)) {
    if (slots_[slot].handle != pending.handle) continue;
    // An old request whose end was not seen. With several threads, another thread may be about to
    // report its end: then both stay, and the older is found first.
    if (library.concurrent) continue;
    slots_[slot] = pending;
    return true;
  }
  if (n_.load(std::memory_order_relaxed) >= kMost) {
    full_.store(true, std::memory_order_relaxed);
    return false;
  }
  slots_[slot] = pending;
  n_.store(n_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return true;
}

uint32_t Requests::find_slot(Handle handle) const noexcept {
  uint32_t slot = home(handle);
  while (slots_[slot].handle && slots_[slot].handle != handle) slot = after(slot);
  return slot;
}

Pending Requests::find(Handle handle, bool forget) noexcept {
  Locked locked(lock_);
  const uint32_t slot = find_slot(handle);
  Pending found = slots_[slot];
  if (found.kind == Pending::none) return found;
  if (forget || !found.kept()) {
    remove(slot);
  } else {
    if (!found.is(Pending::started)) found.kind = Pending::none;
    slots_[slot].flags &= static_cast<uint8_t>(~Pending::started);
  }
  return found;
}

bool Requests::knows_elsewhere(Handle handle) noexcept {
  Locked locked(lock_);
  return bool(slots_[find_slot(handle)].handle);
}

Pending Requests::forget(Handle handle) noexcept {
  if (n_.load(std::memory_order_relaxed) == 0) return {};
  return find(handle, true);
}

void Requests::cancel(Handle handle) noexcept {
  Locked locked(lock_);
  Pending& receive = slots_[find_slot(handle)];
  if (!receive.receives() || receive.is(Pending::cancelled)) return;
  receive.flags |= Pending::cancelled;
  if (receive.is(Pending::wildcard)) return;
  channels.cancelling(receive.id, receive.peer);
  // Those posted after it on its channel would move up.
  for (Pending& later : slots_) {
    if (!later.receives() || later.is(Pending::wildcard) || later.peer != receive.peer) continue;
    if (&later != &receive && later.id.channel == receive.id.channel &&
        Channels::may_follow(later.id, receive.id))
      later.id.number = 0;
  }
}

void Requests::remove(uint32_t hole) noexcept {
  for (uint32_t next = after(hole); slots_[next].handle; next = after(next)) {
    // An entry beyond the hole may move into it unless its home lies between the two.
    if ((next - home(slots_[next].handle)) % kSlots < (next - hole) % kSlots) continue;
    slots_[hole] = slots_[next];
    hole = next;
  }
  slots_[hole] = Pending{};
  n_.store(n_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

bool identify(Pending& pending, const MPI_Status& status) noexcept {
  const bool was_cancelled = is_cancelled(status);
  if (pending.is(Pending::wildcard)) {
    if (was_cancelled) {
      channels.cancel_wildcard(*pending.peers, pending.id.number);
    } else {
      pending.peer = pending.peers->world_rank(status.MPI_SOURCE);
      const uint32_t channel = channel_of(pending.peers->name, status.MPI_TAG);
      pending.id = channels.end_wildcard(*pending.peers, pending.id.number, pending.peer, channel);
    }
    let_go(pending);
  } else if (pending.is(Pending::cancelled)) {
    channels.cancelled(pending.id, pending.peer, !was_cancelled);
  }
  return !was_cancelled;
}

void count_freed(Call& call, MPI_Request request) noexcept {
  Pending pending = requests.forget(request);
  MPI_Status status;
  bool done = false;
  Peers* const kept = pending.kept() ? pending.peers : nullptr;
  if (pending.receives()) {
    done = !library.concurrent && is_done(request, status) == 1;
    const bool arrives = done ? identify(pending, status) : !pending.is(Pending::cancelled);
    if (!done) {
      if (pending.peer == Channels::kAnyPeer) pending.peer = kPeerUnknown;
      let_go(pending);
    }
    const uint64_t bytes =
        done && !pending.is(Pending::in_parts) ? bytes_of(status) : pending.bytes;
    if (call.entered && arrives) perfield_message(PERFIELD_CALL_recv, pending.peer, bytes);
  }
  if (kept) kept->let_go();
}

uint64_t count_ended_slowly(uint64_t entered, uint64_t left, Pending pending,
                            const MPI_Status* status, uint32_t flags) noexcept {
  if (pending.receives()) {
    if (!identify(pending, *status) || !entered) return left;
    if (pending.is(Pending::wildcard)) flags |= PERFIELD_RECV_WILDCARD;
    const uint64_t bytes = pending.is(Pending::in_parts) ? pending.bytes : bytes_of(*status);
    const perfield_msg_recv arrival{pending.peer, flags, bytes,     pending.begun,
                                    entered,      left,  pending.id};
    return perfield_msg_recv_complete(&arrival);
  }
  if (!entered) return left;
  const auto call = static_cast<perfield_call>(pending.call);
  if (pending.kind == Pending::send || (pending.is(Pending::counted) && pending.id.number))
    return perfield_msg_send_complete(call, pending.peer, pending.id.number, entered, left);
  if (pending.kind != Pending::collective) return left;
  const perfield_collective done{
      call,          pending.id.channel, pending.id.number, static_cast<uint32_t>(pending.peer),
      pending.bytes, pending.bytes_in,   pending.begun,     entered,
      left};
  return perfield_collective_done(&done);
}

}  // namespace perfield::pmpi
