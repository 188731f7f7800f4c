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
  bool add(const Pending& pending) noexcept;

  // Removes the entry of the handle; kind `none` if it has none. A persistent request stays, but is
  // no longer started.
  Pending take(Handle handle) noexcept {
    if (n_.load(std::memory_order_relaxed) == 0) return {};
    return find(handle, false);
  }
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
  Pending find(Handle handle, bool forget) noexcept;
  void remove(uint32_t slot) noexcept;

  std::atomic<bool> lock_{false};
  std::atomic<bool> full_{false};
  std::atomic<uint32_t> n_{0};
  Pending slots_[kSlots];
};
extern Requests requests;

// World rank of the sender of `status`; releases what `pending` kept.
int32_t source_of(const Pending& pending, const MPI_Status& status) noexcept;

// Counts the receive that is active while the program frees `request`, where it has arrived or can
// still arrive: from the source and of the size that it asked for, unless MPI knows better.
void count_freed(Call& call, MPI_Request request) noexcept;

// Counts the message that completed `pending`. Unless `waited_since` is 0, counts the time since
// then as waiting for its source. A cancelled receive is no message.
void count_arrived(const Pending& pending, const MPI_Status& status,
                   uint64_t waited_since) noexcept;

}  // namespace perfield::pmpi
