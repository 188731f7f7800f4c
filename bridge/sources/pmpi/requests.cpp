// SPDX-License-Identifier: BSD-3-Clause
//
// requests.cpp - the table of pending requests: open addressing, linear probing; removal closes the
// hole. Under MPI_THREAD_MULTIPLE a lock guards it for some ten nanoseconds; otherwise the program
// keeps threads apart.
#include "requests.hpp"

#include <utility>

#include "lock.hpp"

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

Pending Requests::find(Handle handle, bool forget) noexcept {
  Locked locked(lock_);
  uint32_t slot = home(handle);
  while (slots_[slot].handle && slots_[slot].handle != handle) slot = after(slot);
  const Pending found = slots_[slot];
  if (found.kind == Pending::none) return found;
  if (forget || !found.kept())
    remove(slot);
  else
    slots_[slot].started = false;
  return found;
}

Pending Requests::start(Handle handle) noexcept {
  Locked locked(lock_);
  uint32_t slot = home(handle);
  while (slots_[slot].handle && slots_[slot].handle != handle) slot = after(slot);
  slots_[slot].started = slots_[slot].kept();
  slots_[slot].cancelled = false;
  return slots_[slot];
}

Pending Requests::forget(Handle handle) noexcept {
  if (n_.load(std::memory_order_relaxed) == 0) return {};
  return find(handle, true);
}

void Requests::cancel(Handle handle) noexcept {
  Locked locked(lock_);
  uint32_t slot = home(handle);
  while (slots_[slot].handle && slots_[slot].handle != handle) slot = after(slot);
  if (slots_[slot].handle) slots_[slot].cancelled = true;
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

int32_t source_of(const Pending& pending, const MPI_Status& status) noexcept {
  if (!pending.any) return pending.peer;
  const int32_t peer = pending.any->world_rank(status.MPI_SOURCE);
  if (!pending.kept()) pending.any->let_go();
  return peer;
}

void count_freed(Call& call, MPI_Request request) noexcept {
  Pending pending = requests.forget(request);
  MPI_Status status;
  int done = 0;
  if (call.entered && pending.receives()) {
    Peers* const any = std::exchange(pending.any, nullptr);
    library.Request_get_status(request, &done, &status);
    if (done && any) pending.peer = any->world_rank(status.MPI_SOURCE);
    if (done)
      count_arrived(pending, status);
    else if (!pending.cancelled)
      perfield_received(pending.peer, pending.bytes);
    pending.any = any;
  }
  if (pending.any) pending.any->let_go();
}

void count_arrived_unusual(const Pending& pending, const MPI_Status& status) noexcept {
  const int32_t peer = source_of(pending, status);
  if (is_cancelled(status)) return;
  perfield_received(peer, pending.in_parts ? pending.bytes : bytes_of(status));
}

uint64_t count_awaited(Pending pending, const MPI_Status& status, uint64_t entered) noexcept {
  const int32_t peer = source_of(pending, status);
  if (is_cancelled(status)) return 0;
  return perfield_awaited(peer, pending.in_parts ? pending.bytes : bytes_of(status), entered);
}

}  // namespace perfield::pmpi
