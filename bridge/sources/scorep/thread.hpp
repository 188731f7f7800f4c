// SPDX-License-Identifier: BSD-3-Clause
//
// thread.hpp - what the plugin keeps of each thread: which location of Score-P it is, how time
// stamps read there, and the regions that were entered before perfield woke. With it, the looks
// that every event takes first.
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
};

// Beside the program's own data, so that no call is needed to find it.
extern __thread Thread this_thread __attribute__((tls_model("initial-exec")));

inline const std::atomic<uint32_t>* source_state = nullptr;  // see source.h; set by start_looking
inline bool is_awake() noexcept {
  return __builtin_expect(source_state->load(std::memory_order_relaxed) != 0, 1);
}

inline bool is_counting() noexcept { return source_state->load(std::memory_order_relaxed) == 2; }

inline std::atomic<bool> has_woken{false};  // whether it is, or was

// Before the first event.
void start_looking() noexcept;

// Whether events of that location happen on this thread. Those of a device or of metrics are told
// by whichever thread learns of them, and are left out.
bool is_cpu_thread(Location* location) noexcept;

// The same where perfield is awake, for each event; `location` is this thread's from then on.
bool take_location(Location* location) noexcept;
inline bool is_own(Location* location) noexcept {
  return __builtin_expect(this_thread.location == location, 1) || take_location(location);
}

}  // namespace perfield::scorep
