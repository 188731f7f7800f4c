// SPDX-License-Identifier: BSD-3-Clause
//
// requests.hpp - remembers, by handle, what lasts longer than one call: posted receives, sends and
// collectives that are not complete, persistent requests, and messages matched by a probe. One
// table of fixed size; any thread.
#pragma once

#include <cstdint>

#include "call.hpp"
#include "channels.hpp"
#include "handle.hpp"
#include "lock.hpp"
#include "peers.hpp"

namespace perfield::pmpi {

struct Pending {
  enum Kind : uint8_t { none, receive, message, send, collective, kept_send, kept_receive };
  enum Flag : uint8_t {
    started = 1,    // persistent: between its start and its completion
    wildcard = 2,   // a receive from any source or with any tag
    in_parts = 4,   // a partitioned receive, whose size is known
    cancelled = 8,  // requested by the program
    counted = 16    // a persistent send that was measured when it started
  };
  Handle handle;  // all zeros when unused, so an empty table costs no memory
  union {
    Peers* peers = nullptr;  // kept alive: of a wildcard, and of a persistent request
    uint64_t bytes_in;       // of a collective
  };
  uint64_t bytes = 0;  // of a persistent send; of a collective: out; the room of a receive
  uint64_t begun = 0;  // stamp of its start; 0: not measured
  int32_t peer = 0;    // world rank of the other side, if known at the start
  // Of a receive. Wildcard: its tag and order. Send: its channel, and where the log keeps it.
  // Collective: the communicator's name, and its number.
  perfield_message_id id{};
  uint16_t call = 0;  // of a send or collective
  Kind kind = none;
  uint8_t flags = 0;

  bool is(Flag flag) const noexcept { return flags & flag; }
  // Persistent ("kept") requests stay until freed; others leave when complete.
  bool kept() const noexcept { return kind >= kept_send; }
  // Whether a received message completes it.
  bool receives() const noexcept {
    return kind == receive || kind == message || (kind == kept_receive && is(started));
  }
};

class Requests {
 public:
  // Adds it under its handle; false if the table is full.
  bool add(const Pending& pending) noexcept {
    return add(pending.handle, [&](Pending& slot) { slot = pending; });
  }
  // The same where `fill` writes what is remembered, all that its kind needs but the handle: nearly
  // always straight to where it stays.
  template <typename Fill>
  [[gnu::always_inline]] bool add(Handle handle, Fill fill) noexcept {
    Pending& slot = slots_[home(handle)];
    const uint32_t n = n_.load(std::memory_order_relaxed);
    if (__builtin_expect(library.concurrent || slot.handle || n >= kMost, 0)) {
      Pending pending;
      fill(pending);
      pending.handle = handle;
      return add_elsewhere(pending);
    }
    fill(slot);
    slot.handle = handle;
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
    slot.handle = {};
    slot.kind = Pending::none;
    n_.store(n - 1, std::memory_order_relaxed);
    return found;
  }
  // The same, straight to `taken`; returns whether there was one.
  [[gnu::always_inline]] bool take_to(Handle handle, Pending& taken) noexcept {
    const uint32_t home_of = home(handle);
    Pending& slot = slots_[home_of];
    if (!library.concurrent) {
      if (!slot.handle) return false;
      if (slot.handle == handle && !slot.kept() && !slots_[after(home_of)].handle) {
        taken = slot;
        slot.handle = {};
        slot.kind = Pending::none;
        n_.store(n_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        return true;
      }
    }
    taken = find(handle, false);
    return taken.kind != Pending::none;
  }
  // Whether that handle is remembered.
  [[gnu::always_inline]] bool knows(Handle handle) noexcept {
    const Pending& slot = slots_[home(handle)];
    if (!library.concurrent && slot.handle == handle) return true;
    if (!library.concurrent && !slot.handle) return false;
    return knows_elsewhere(handle);
  }
  // Whether anything is remembered. Otherwise a call that completes requests need not look at them.
  bool any() const noexcept { return n_.load(std::memory_order_relaxed) != 0; }
  // A persistent request has started: `begin` changes what is remembered of it. Returns that; kind
  // `none` if unknown.
  template <typename Begin>
  Pending start(Handle handle, Begin begin) noexcept {
    Locked locked(lock_);
    Pending& slot = slots_[find_slot(handle)];
    if (!slot.kept()) return {};
    slot.flags = static_cast<uint8_t>((slot.flags & ~(Pending::cancelled | Pending::counted)) |
                                      Pending::started);
    begin(slot);
    return slot;
  }
  // Removes it, persistent or not.
  Pending forget(Handle handle) noexcept;
  // The program has requested MPI to cancel it.
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
  bool knows_elsewhere(Handle handle) noexcept;
  // The handle's slot, or the empty one where it would be.
  uint32_t find_slot(Handle handle) const noexcept;
  void remove(uint32_t slot) noexcept;

  std::atomic<bool> lock_{false};
  std::atomic<bool> full_{false};
  std::atomic<uint32_t> n_{0};
  Pending slots_[kSlots];
};
extern Requests requests __attribute__((visibility("hidden")));

// Releases what it kept alive.
inline void let_go(const Pending& pending) noexcept {
  if (pending.is(Pending::wildcard) && !pending.kept()) pending.peers->let_go();
}

// Counts the receive that is active while the program frees `request`, where it has arrived or can
// still arrive: from the source and of the size that it names, unless MPI knows better.
void count_freed(Call& call, MPI_Request request) noexcept;

// What `status` holds of the message that completed `pending`; false if none did, since it was
// cancelled. Releases what it kept. Also while nothing is measured, since messages are numbered
// then, too.
bool identify(Pending& pending, const MPI_Status& status) noexcept;

// Counts what has completed `pending`, for which the program has waited since `entered` (0: not
// measured), in a call that was left at `left` (0: now). Returns that. flags: of the arrival.
uint64_t count_ended_slowly(uint64_t entered, uint64_t left, Pending pending,
                            const MPI_Status* status, uint32_t flags) noexcept;
// Whether what a call has completed may be counted on the fast path.
inline bool is_on_fast_path(const Call& call) noexcept {
  return call.entered && library.plain_statuses;
}
// since: when the program began to wait for it.
[[gnu::always_inline]] inline void count_ended(Call& call, const Pending& pending,
                                               const MPI_Status* status, uint32_t flags,
                                               bool is_fast, uint64_t since) noexcept {
  if (!is_fast || pending.flags) {  // NOLINT(bugprone-branch-clone): the last branch is rare
    call.left = count_ended_slowly(since, call.left, pending, status, flags);
  } else if (pending.kind == Pending::send) {
    call.left = perfield_msg_send_complete(static_cast<perfield_call>(pending.call), pending.peer,
                                           pending.id.number, since, call.left);
  } else if (pending.kind == Pending::receive && !was_cancelled(*status)) {
    const perfield_msg_recv arrival{
        pending.peer, flags, received_bytes(*status), pending.begun, since, call.left, pending.id};
    call.left = perfield_msg_recv_complete(&arrival);
  } else {
    call.left = count_ended_slowly(since, call.left, pending, status, flags);
  }
}
[[gnu::always_inline]] inline void count_ended(Call& call, const Pending& pending,
                                               const MPI_Status* status, uint32_t flags) noexcept {
  count_ended(call, pending, status, flags, is_on_fast_path(call), call.entered);
}
// The same of a test.
[[gnu::always_inline]] inline void count_tested(Call& call, const Pending& pending,
                                                const MPI_Status* status) noexcept {
  count_ended(call, pending, status, 0, is_on_fast_path(call), call.polled_since());
}
// Whether a request of that handle is complete already, so that a test of it shows nothing.
inline bool is_idle(Handle handle) noexcept {
  return handle == library.no_request || handle == library.done_request;
}

}  // namespace perfield::pmpi
