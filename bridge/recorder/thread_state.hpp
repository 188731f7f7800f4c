// SPDX-License-Identifier: BSD-3-Clause
//
// thread_state.hpp - what each event of a thread and each closing look at first: one cache line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/activity.hpp"
#include "recorder/dirty_rows.hpp"
#include "recorder/region_stack.hpp"
#include "recorder/source.h"

namespace perfield {

struct alignas(64) ThreadState {
  explicit ThreadState(const Activity& of_recorder) noexcept
      : activity(&of_recorder), other_clock(!of_recorder.by_counter) {}
  // Whether a call does not exit in the simplest way; one comparison of both.
  bool is_in_region_or_other_clock() const noexcept {
    return __atomic_load_n(reinterpret_cast<const EightBytes*>(&depth), __ATOMIC_RELAXED) != 0;
  }

  const Activity* const activity;
  DirtyTables dirty;
  alignas(8) std::atomic<int32_t> depth{0};  // regions that the thread is inside
  const uint32_t other_clock;                // 0: ticks are those of the processor's counter
  std::atomic<uint64_t> call_since{0};       // when the open call began; 0: none
  std::atomic<const perfield_operation*> open_operation{nullptr};  // if that is an operation
  const void* call_frame = nullptr;   // frame of the wrapper of the open call, if known
  const void* call_caller = nullptr;  // ... and where that returns to, if known
  uint32_t fast_depth = kStackDepth;  // 0 in own work or if the next region is armed
  uint16_t own_work = 0;              // the thread is inside perfield; set by set_own_work()
  std::atomic<uint8_t> open_call{0};  // kind of the open call
  bool pipeline_armed = false;        // as own_work
};
static_assert(PERFIELD_CALL_LIMIT <= 256);
static_assert(sizeof(ThreadState) == 64);
static_assert(offsetof(ThreadState, other_clock) == offsetof(ThreadState, depth) + 4);  // one word

}  // namespace perfield
