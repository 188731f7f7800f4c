// SPDX-License-Identifier: BSD-3-Clause
//
// frames.hpp - what an event of a region touches beside the recorder's one line (activity.hpp): the
// thread's row of the path, and its frame. Each is one cache line. A thread writes its own rows and
// frames; the thread that closes a step reads them.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/counter.hpp"

namespace perfield {

inline constexpr int kStackDepth = 256;

// What a thread has counted on a path (see Paths): entries, their times, and what was not inside
// regions further in. A region's own numbers are sums over its paths.
struct alignas(64) PathCounters {
  Growing count, inclusive, self;
  // Frame::region of an entry that counts for the region itself, once the long way has found that
  // it does; 0: take the long way. Other threads reset it when the region is armed.
  std::atomic<uint64_t> usual{0};
  // Guesses, as programs do the same again and again: the path that is entered first inside this
  // one, and the one that is entered next beside it. Own thread only.
  uint32_t first_inside = 0, next_beside = 0;
};

// An entered region. The caller enters and leaves with `handle`. `id` is the region that gets the
// time (a different one for an armed entry or for a block).
struct alignas(64) Frame {
  std::atomic<uint64_t> region;  // region_of(handle, id); | kLongWay if it entered so
  std::atomic<uint64_t> entered;
  std::atomic<int32_t>
      nearest;                 // this frame if it counts, else the next outer one that does; or -1
  std::atomic<uint32_t> path;  // row of its path; of that around it if the frame does not count
  // Ticks of inner regions, and which quantities have grown in this frame's frame_amounts, as bits:
  // both in that period alone. So entering a region resets them by one word.
  std::atomic<uint64_t> inner_period, children, grown;
  uint32_t* guess;  // where it stands which path is entered next, inside; own thread only

  static constexpr uint64_t kLongWay = uint64_t(1) << 63;
  // Not 0 for a handle that the table has.
  static uint64_t region_of(uint32_t handle, uint32_t id) noexcept {
    return (uint64_t(handle) + 1) << 32 | id;
  }
  // Whether a region_of() is of that handle, and no entry that took the long way.
  static bool is_of(uint64_t region, uint32_t handle) noexcept {
    return uint32_t(region >> 32) == handle + 1;
  }
  uint32_t id() const noexcept { return uint32_t(region.load(std::memory_order_relaxed)); }
  uint32_t handle() const noexcept {
    return (uint32_t(region.load(std::memory_order_relaxed) >> 32) & 0x7FFFFFFF) - 1;
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

// The regions that a thread is in, from the outermost on. Level -1 is outside of all.
class Stack {
 public:
  Stack() noexcept { of_[0].nearest.store(-1, std::memory_order_relaxed); }
  Frame& operator[](int32_t level) noexcept { return of_[uint32_t(level + 1)]; }
  const Frame& operator[](int32_t level) const noexcept { return of_[uint32_t(level + 1)]; }

 private:
  Frame of_[1 + kStackDepth];
};

}  // namespace perfield
