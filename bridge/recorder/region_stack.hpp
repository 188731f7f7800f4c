// SPDX-License-Identifier: BSD-3-Clause
//
// region_stack.hpp - the regions that a thread is inside. Each entry is one cache line. The thread
// writes its entries; the thread that closes a step reads them.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/arena.hpp"
#include "recorder/paths.hpp"

namespace perfield {

inline constexpr int kStackDepth = 256;

inline constexpr int kDeepLevels = 1 << 16;  // further levels, for which only handles are kept

// An entered region. The caller enters and leaves with `handle`. `id` is the region that gets the
// time (a different one for an armed entry or for a block).
struct alignas(64) RegionStackEntry {
  std::atomic<uint64_t> region;  // region_of(handle, id); | kSlowPath if it took that
  std::atomic<uint64_t> entered;
  std::atomic<int32_t>
      nearest;                 // this level if it counts, else the next outer one that does; or -1
  std::atomic<uint32_t> path;  // row of its path; of that around it if the entry does not count
  // Ticks of inner regions, and which quantities have grown here (see QuantityTable), as bits: both
  // in that period alone. So entering a region resets them by one word.
  std::atomic<uint64_t> inner_period, children, grown;
  uint32_t* predicted;  // names the path that is entered next inside; own thread only

  static constexpr uint64_t kSlowPath = uint64_t(1) << 63;
  // Not 0 for a handle that the table has.
  static uint64_t region_of(uint32_t handle, uint32_t id) noexcept {
    return (uint64_t(handle) + 1) << 32 | id;
  }
  // Whether a region_of() is of that handle, and no entry that took the slow path.
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

// The regions that a thread is in, from the outermost on. Level -1 is outside of all. How many they
// are is ThreadState::depth.
class RegionStack {
 public:
  RegionStack() noexcept { of_[0].nearest.store(-1, std::memory_order_relaxed); }
  void place(Arena& arena, const Paths& known) noexcept {
    known_ = &known;
    deep_handles_ = arena.take<uint32_t>(kDeepLevels);
  }

  RegionStackEntry& operator[](int32_t level) noexcept { return of_[uint32_t(level + 1)]; }
  const RegionStackEntry& operator[](int32_t level) const noexcept {
    return of_[uint32_t(level + 1)];
  }
  // The row of the path of a level, or of that around it if the level does not count.
  uint32_t path_of(int32_t level) const noexcept {
    return (*this)[level].path.load(std::memory_order_relaxed);
  }
  // Whether a level counts; and also no outer level has the same region.
  bool counts(int32_t level) const noexcept {
    return (*this)[level].nearest.load(std::memory_order_relaxed) == level;
  }
  bool is_outermost(int32_t level) const noexcept {
    if (!counts(level)) return false;
    const uint32_t path = path_of(level), id = (*this)[level].id();
    if (!known_->is_other(path)) return known_->is_outermost(path);
    for (int32_t outer = 0; outer < level; ++outer)
      if (counts(outer) && (*this)[outer].id() == id) return false;
    return true;
  }
  // The next outer level that counts; -1: none.
  int32_t outer_of(int32_t level) const noexcept {
    return level > 0 ? (*this)[level - 1].nearest.load(std::memory_order_relaxed) : -1;
  }

  // The innermost of `depth` levels that was entered with that handle; -1: none. Below the levels
  // with kept handles, the top level.
  int32_t level_of(uint32_t handle, int32_t depth) const noexcept {
    int32_t level = depth - 1;
    if (__builtin_expect(level >= kStackDepth + kDeepLevels, 0)) return level;
    while (level >= 0 && handle_at(level) != handle) --level;
    return level;
  }
  // Whether that level is open and was entered with that handle, as far as known.
  bool is_open(int32_t level, uint32_t handle, int32_t depth) const noexcept {
    if (level < 0 || level >= depth) return false;
    return level >= kStackDepth + kDeepLevels || handle_at(level) == handle;
  }
  // Whether any level has this region.
  bool has(uint32_t id) const noexcept {
    for (int32_t level = kStackDepth - 1; level >= 0; --level)
      if (counts(level) && (*this)[level].id() == id) return true;
    return false;
  }
  // Beyond kStackDepth.
  void enter_deep(int32_t level, uint32_t handle) noexcept {
    if (level < kStackDepth + kDeepLevels) deep_handles_[level - kStackDepth] = handle;
  }

 private:
  uint32_t handle_at(int32_t level) const noexcept {
    return level < kStackDepth ? (*this)[level].handle() : deep_handles_[level - kStackDepth];
  }

  RegionStackEntry of_[1 + kStackDepth];
  const Paths* known_ = nullptr;
  uint32_t* deep_handles_ = nullptr;  // [kDeepLevels]
};

}  // namespace perfield
