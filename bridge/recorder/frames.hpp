// SPDX-License-Identifier: BSD-3-Clause
//
// frames.hpp - what an event of a region touches beside the recorder's one line (activity.hpp): the
// thread's row of the region, and its frame. Each is one cache line. A thread writes its own rows
// and frames; the thread that closes a step reads them.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/counter.hpp"

namespace perfield {

inline constexpr int kStackDepth = 256;

struct alignas(64) RegionCounters {
  Growing count, inclusive, self;
  // Frame::region of an entry that counts for the region itself, once the long way has found that
  // it does; 0: take the long way. Other threads reset it when the region is armed.
  std::atomic<uint64_t> usual{0};
  uint32_t open = 0;  // entries on the stack; own thread only
};

// An entered region. The caller enters and leaves with `handle`. `id` is the region that gets the
// time (a different one for an armed entry or for a block).
struct alignas(64) Frame {
  std::atomic<uint64_t> region;  // region_of(handle, id)
  std::atomic<uint64_t> entered;
  std::atomic<int32_t>
      nearest;  // this frame if it counts, else the next outer one that does; or -1
  // Ticks of inner regions, and which quantities have grown in this frame's frame_amounts, as bits:
  // both in that period alone. So entering a region resets them by one word.
  std::atomic<uint64_t> inner_period, children, grown;

  // Not 0 for a handle that the table has.
  static uint64_t region_of(uint32_t handle, uint32_t id) noexcept {
    return (uint64_t(handle) + 1) << 32 | id;
  }
  uint32_t id() const noexcept { return uint32_t(region.load(std::memory_order_relaxed)); }
  uint32_t handle() const noexcept {
    return uint32_t(region.load(std::memory_order_relaxed) >> 32) - 1;
  }

  bool is_in(uint64_t period) const noexcept {
    return inner_period.load(std::memory_order_acquire) == period;
  }
  uint64_t children_in(uint64_t period) const noexcept {
    return is_in(period) ? children.load(std::memory_order_relaxed) : 0;
  }
  uint64_t grown_in(uint64_t period) const noexcept {
    return is_in(period) ? grown.load(std::memory_order_relaxed) : 0;
  }
  void begin_period(uint64_t period) noexcept {
    if (is_in(period)) return;
    children.store(0, std::memory_order_relaxed);
    grown.store(0, std::memory_order_relaxed);
    inner_period.store(period, std::memory_order_release);
  }
  void add_child(uint64_t ticks, uint64_t period) noexcept {
    begin_period(period);
    children.store(children.load(std::memory_order_relaxed) + ticks, std::memory_order_relaxed);
  }
};

}  // namespace perfield
