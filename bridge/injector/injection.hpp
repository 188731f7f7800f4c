// SPDX-License-Identifier: BSD-3-Clause
//
// injection.hpp - a message counts as arrived when MPI says so and when its latency, drawn from the
// trace, has passed since it was sent. Decides when that is, holds a call until then, and counts
// what was and what could not be injected. On the thread that makes the call; it never waits longer
// than the longest latency of a trace, 4.3 s.
#pragma once

#include <ctime>

#include "call.hpp"

namespace perfield::injector {

using namespace perfield::pmpi;

inline uint64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// After MPI_Init: reads the trace, and makes the wrappers inject. A repeated call does nothing.
void begin() noexcept;
// Before MPI_Finalize; returns whether it was injecting. `clean_up` comes after it.
bool end() noexcept;
void clean_up() noexcept;

// Before a message is sent to `dest` of that communicator.
void leave_stamp(int dest, int tag, uint64_t bytes, MPI_Comm comm) noexcept;
// The same of a persistent send, whose communicator may be freed by now: by world rank and name.
void leave_stamp_for(int32_t peer, uint32_t communicator, int tag, uint64_t bytes) noexcept;

// When a message that MPI has delivered counts as arrived: a stamp of now_ns, 0 if at once. Each
// message is asked for once. bytes: Stamps::kAnyBytes if not known yet.
uint64_t due_of_message(int32_t peer, uint32_t communicator, int tag, uint64_t bytes) noexcept;
// The same of a blocking receive that names no request.
uint64_t due_of_received(const MPI_Status& status, MPI_Comm comm) noexcept;
// The same of a message that a probe has found, which is still to be received.
uint64_t due_of_probed(const MPI_Status& status, MPI_Comm comm) noexcept;

// Whether that moment has come.
bool has_come(uint64_t due_ns) noexcept;

// Lets MPI work on other messages.
void drive_progress() noexcept;
// Returns at that moment.
void hold_until(uint64_t due_ns) noexcept;
// One turn of a loop that waits for requests. A clock that does not advance (a program may replace
// clock_gettime) makes all moments come.
void take_turn() noexcept;

// A receive that will complete unseen: messages from `peer` are no longer delayed.
void lose_track(int32_t peer) noexcept;

}  // namespace perfield::injector
