// SPDX-License-Identifier: BSD-3-Clause
//
// thread.hpp - the plugin's data of each thread: its Score-P location, its time stamps, and the
// regions entered before perfield woke. Also the checks that every event makes first.
#pragma once

#include <atomic>
#include <cstdint>

#include "sources/scorep/early_regions.hpp"
#include "sources/scorep/stamps.hpp"
#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {

struct Thread {
  Location* location = nullptr;  // set at the thread's first event while perfield is awake
  Stamps stamps;
  EarlyRegions early;
  // The regions of the handles that this thread saw last, so that an event reads no shared table.
  static constexpr uint32_t kRecent = 8;
  struct {
    Handle handle;
    uint32_t region;
  } recent[kRecent] = {};
};

// Beside the program's own data, so that no call is needed to find it.
extern __thread Thread this_thread __attribute__((tls_model("initial-exec")));

inline const std::atomic<uint32_t>* source_state = nullptr;  // see source.h; set by start_looking
inline bool is_awake() noexcept {
  return __builtin_expect(source_state->load(std::memory_order_relaxed) != 0, 1);
}

inline bool is_counting() noexcept { return source_state->load(std::memory_order_relaxed) == 2; }

inline std::atomic<bool> has_woken{false};  // perfield is awake, or was

// Call before the first event.
void start_looking() noexcept;

// Whether events of that location happen on this thread. Any thread may report events of devices
// and metrics; those are left out.
bool is_cpu_thread(Location* location) noexcept;

// The same for each event while perfield is awake; stores `location` as this thread's.
bool take_location(Location* location) noexcept;
inline bool is_own(Location* location) noexcept {
  return __builtin_expect(this_thread.location == location, 1) || take_location(location);
}

}  // namespace perfield::scorep
