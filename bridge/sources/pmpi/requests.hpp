// SPDX-License-Identifier: BSD-3-Clause
//
// requests.hpp - remembers, by handle, what lasts longer than one call: posted receives, persistent
// requests, and messages matched by a probe. One table of fixed size; any thread.
#pragma once

#include <cstdint>

#include "call.hpp"
#include "handle.hpp"
#include "peers.hpp"

namespace perfield::pmpi {

struct Pending {
  enum Kind : uint8_t { none, receive, message, kept_send, kept_receive };
  Handle handle;         // all zeros when unused, so an empty table costs no memory
  Peers* any = nullptr;  // for a receive from any source: translates its rank
  uint64_t bytes = 0;    // of a persistent send; the room of a receive
  int32_t peer = 0;      // world rank of the other side, if known at the start
  Kind kind = none;
  bool started = false;   // persistent: between its start and its completion
  bool in_parts = false;  // a partitioned receive, whose size is known
  bool cancelled = false;

  // Persistent ("kept") requests stay until freed; others leave when complete.
  bool kept() const noexcept { return kind == kept_send || kind == kept_receive; }
  // Whether a received message completes it.
  bool receives() const noexcept {
    return kind == receive || kind == message || (kind == kept_receive && started);
  }
};

class Requests {
 public:
  // Adds it under its handle; false if the table is full.
  [[gnu::always_inline]] bool add(const Pending& pending) noexcept {
    Pending& slot = slots_[home(pending.handle)];
    const uint32_t n = n_.load(std::memory_order_relaxed);
    if (__builtin_expect(library.concurrent || slot.handle || n >= kMost, 0))
      return add_elsewhere(pending);
    slot = pending;
    n_.store(n + 1, std::memory_order_relaxed);
    return true;
  }

  // Removes the entry of the handle; kind `none` if it has none. A persistent request stays, but is
  // no longer started.
  [[gnu::always_inline]] Pending take(Handle handle) noexcept {
    const uint32_t n = n_.load(std::memory_order_relaxed);
    if (n == 0) return {};
    const uint32_t home_of = home(handle);
    Pending& slot = slots_[home_of];
    if (__builtin_expect(library.concurrent, 0)) return find(handle, false);
    if (!slot.handle) return {};
    // Nearly always, it is in its first slot, with nothing behind.
    const bool alone = slot.handle == handle && !slot.kept() && !slots_[after(home_of)].handle;
    if (__builtin_expect(!alone, 0)) return find(handle, false);
    const Pending found = slot;
    slot = Pending{};
    n_.store(n - 1, std::memory_order_relaxed);
    return found;
  }
  // The same, straight to `taken`; returns whether that receives.
  [[gnu::always_inline]] bool take_receive(Handle handle, Pending& taken) noexcept {
    const uint32_t home_of = home(handle);
    Pending& slot = slots_[home_of];
    if (!library.concurrent) {
      if (!slot.handle) return false;
      if (slot.handle == handle && !slot.kept() && !slots_[after(home_of)].handle) {
        taken = slot;
        slot = Pending{};
        n_.store(n_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        return true;
      }
    }
    taken = find(handle, false);
    return taken.receives();
  }
  // Whether anything is remembered. Otherwise a call that completes requests need not look at them.
  bool any() const noexcept { return n_.load(std::memory_order_relaxed) != 0; }
  // Marks a persistent request as started; kind `none` if unknown.
  Pending start(Handle handle) noexcept;
  // Removes it, persistent or not.
  Pending forget(Handle handle) noexcept;
  // The program has asked MPI to cancel it.
  void cancel(Handle handle) noexcept;

  bool was_full() const noexcept { return full_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kSlots = 8192, kMost = kSlots / 8 * 7;
  static uint32_t home(Handle handle) noexcept {
    return static_cast<uint32_t>(handle.value * 0x9E3779B97F4A7C15u >> 51);
  }
  static uint32_t after(uint32_t slot) noexcept { return (slot + 1) % kSlots; }
  bool add_elsewhere(Pending pending) noexcept;
  Pending find(Handle handle, bool forget) noexcept;
  void remove(uint32_t slot) noexcept;

  std::atomic<bool> lock_{false};
  std::atomic<bool> full_{false};
  std::atomic<uint32_t> n_{0};
  Pending slots_[kSlots];
};
extern Requests requests __attribute__((visibility("hidden")));

// World rank of the sender of `status`; releases what `pending` kept.
int32_t source_of(const Pending& pending, const MPI_Status& status) noexcept;

// Counts the receive that is active while the program frees `request`, where it has arrived or can
// still arrive: from the source and of the size that it asked for, unless MPI knows better.
void count_freed(Call& call, MPI_Request request) noexcept;

// Counts the message that completed `pending`. A cancelled receive is no message.
void count_arrived_unusual(const Pending& pending, const MPI_Status& status) noexcept;
inline bool is_usual(const Pending& pending) noexcept {
  return __builtin_expect(!pending.any && !pending.in_parts && library.plain_statuses, 1);
}
[[gnu::always_inline]] inline void count_arrived(const Pending& pending,
                                                 const MPI_Status& status) noexcept {
  if (!is_usual(pending))
    count_arrived_unusual(pending, status);
  else if (!was_cancelled(status))
    perfield_message(PERFIELD_CALL_recv, pending.peer, received_bytes(status));
}
// The same, and the time since `entered` as waiting for its source; returns the stamp of now, 0 if
// nothing is counted.
uint64_t count_awaited(Pending pending, const MPI_Status& status, uint64_t entered) noexcept;
[[gnu::always_inline]] inline void count_awaited(Call& call, const Pending& pending,
                                                 const MPI_Status& status) noexcept {
  if (!is_usual(pending))
    call.left = count_awaited(pending, status, call.entered);
  else if (!was_cancelled(status))
    call.left = perfield_awaited(pending.peer, received_bytes(status), call.entered);
}

}  // namespace perfield::pmpi
