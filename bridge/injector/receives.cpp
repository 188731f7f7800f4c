// SPDX-License-Identifier: BSD-3-Clause
//
// receives.cpp - see receives.hpp. Receives that name their source and tag get the messages of that
// source and tag in the order in which they were posted. One that takes any source or tag is
// distinguished by its status, once it is complete; among several that could take the same message,
// stamps may then be swapped, but none is lost.
#include "receives.hpp"

#include "injection.hpp"
#include "lock.hpp"
#include "stamps.hpp"

namespace perfield::injector {

Receives receives;

int32_t Receives::find(Handle handle) noexcept {
  int32_t at = buckets_[bucket_of(handle)] - 1;
  while (at >= 0 && receives_[at].handle != handle) at = receives_[at].next;
  return at;
}

void Receives::join(int32_t at) noexcept {
  Receive& it = receives_[at];
  it.post = ++n_posts_;
  it.active = true;
  it.settled = false;
  it.older = newest_;
  it.newer = -1;
  (newest_ < 0 ? oldest_ : receives_[newest_].newer) = at;
  newest_ = at;
}

void Receives::leave(int32_t at) noexcept {
  Receive& it = receives_[at];
  if (!it.active) return;
  it.active = false;
  (it.older < 0 ? oldest_ : receives_[it.older].newer) = it.newer;
  (it.newer < 0 ? newest_ : receives_[it.newer].older) = it.older;
}

void Receives::forget(int32_t at) noexcept {
  Receive& it = receives_[at];
  leave(at);
  int32_t& head = buckets_[bucket_of(it.handle)];
  if (head - 1 == at) {
    head = it.next + 1;
  } else {
    int32_t before = head - 1;
    while (receives_[before].next != at) before = receives_[before].next;
    receives_[before].next = it.next;
  }
  if (it.any) it.any->let_go();
  it = Receive{};
  it.next = first_free_;
  first_free_ = at;
  n_.store(n_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

bool Receives::add(const Receive& receive) noexcept {
  Locked locked(lock_);
  // An old request whose end was not seen. With several threads, another may be about to report it.
  const int32_t old = library.concurrent ? -1 : find(receive.handle);
  if (old >= 0) forget(old);
  int32_t at = first_free_;
  if (at >= 0)
    first_free_ = receives_[at].next;
  else if (n_used_ < kRoom)
    at = n_used_++;
  else
    return false;
  receives_[at] = receive;
  receives_[at].next = -1;
  int32_t* place = &buckets_[bucket_of(receive.handle)];
  if (*place == 0) {
    *place = at + 1;
  } else {
    int32_t last = *place - 1;
    while (receives_[last].next >= 0) last = receives_[last].next;
    receives_[last].next = at;
  }
  if (!receive.kept) join(at);
  n_.store(n_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return true;
}

bool Receives::is_active(Handle handle) noexcept {
  if (n_.load(std::memory_order_relaxed) == 0) return false;
  Locked locked(lock_);
  const int32_t at = find(handle);
  return at >= 0 && receives_[at].active;
}

void Receives::start(Handle handle) noexcept {
  if (n_.load(std::memory_order_relaxed) == 0) return;
  Locked locked(lock_);
  const int32_t at = find(handle);
  if (at < 0) return;
  const Receive& it = receives_[at];
  if (it.sends)
    leave_stamp_for(it.peer, it.communicator, it.tag, it.bytes);
  else
    leave(at), join(at);  // its last end may have been missed, as in a call that failed
}

void Receives::settle(int32_t peer, uint32_t communicator, int tag, uint64_t post) noexcept {
  for (int32_t at = oldest_; at >= 0 && receives_[at].post < post; at = receives_[at].newer) {
    Receive& it = receives_[at];
    if (it.settled || it.any || it.peer != peer || it.communicator != communicator || it.tag != tag)
      continue;
    it.due_ns = due_of_message(peer, communicator, tag, Stamps::kAnyBytes);
    it.settled = true;
  }
}

void Receives::settle_older(int32_t peer, uint32_t communicator, int tag, uint64_t post) noexcept {
  if (n_.load(std::memory_order_relaxed) == 0) return;
  Locked locked(lock_);
  settle(peer, communicator, tag, post);
}

uint64_t Receives::due(Handle handle, const MPI_Status& status) noexcept {
  Locked locked(lock_);
  const int32_t at = find(handle);
  if (at < 0 || !receives_[at].active) return 0;
  Receive& it = receives_[at];
  if (it.settled) return it.due_ns;
  int cancelled = 0;
  library.Test_cancelled(&status, &cancelled);
  it.settled = true;
  it.due_ns = 0;
  if (cancelled) return 0;
  const int32_t peer = it.any ? it.any->world_rank(status.MPI_SOURCE) : it.peer;
  settle(peer, it.communicator, status.MPI_TAG, it.post);
  return it.due_ns = due_of_message(peer, it.communicator, status.MPI_TAG, bytes_of(status));
}

void Receives::completed(Handle handle) noexcept {
  Locked locked(lock_);
  const int32_t at = find(handle);
  if (at < 0) return;
  if (receives_[at].kept)
    leave(at);
  else
    forget(at);
}

void Receives::freed(Handle handle) noexcept {
  if (n_.load(std::memory_order_relaxed) == 0) return;
  Locked locked(lock_);
  const int32_t at = find(handle);
  if (at < 0) return;
  const Receive& it = receives_[at];
  if (it.active && !it.settled && !it.sends && !it.any) lose_track(it.peer);
  forget(at);
}

}  // namespace perfield::injector
