// SPDX-License-Identifier: BSD-3-Clause
//
// step_region.hpp - decides when the region that closes steps (step_region) closes one: when the
// thread that entered it first leaves its outermost entry. Entries inside it (time steps that
// recurse, as over levels of a mesh) and those of other threads close none. If that thread ends,
// the next one that enters takes over. Runs on the program's threads; never locks, allocates or
// fails.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/counter.hpp"

namespace perfield {

class ThreadProfile;

// What a thread's profile knows of the region. Its own thread writes it.
struct StepEntries {
  std::atomic<int32_t> level{-1};  // of the outermost open entry; -1: none
  std::atomic<uint32_t> handle{0};
  Counter inner;  // entries inside that one that were left
  Counter left;   // outermost entries that were left
};

class StepRegion {
 public:
  // Call it before the profile enters the region. Returns whether this is an outermost entry of the
  // thread that closes steps.
  bool enter(ThreadProfile& s, uint32_t handle) noexcept;
  // Call it after the profile has left the region. Returns whether that closes a step.
  bool leave(ThreadProfile& s) noexcept;
  void thread_ended(ThreadProfile& s) noexcept;
  // The profile of the thread that closes steps; nullptr: none has entered the region.
  ThreadProfile* closer() const noexcept { return closer_.load(std::memory_order_relaxed); }

 private:
  std::atomic<ThreadProfile*> closer_{nullptr};
};

}  // namespace perfield
