// SPDX-License-Identifier: BSD-3-Clause
//
// usual_region.hpp - the short way into and out of a region, for nearly all events: the region
// counts for itself, begin and end match, and no kernel counter is read. Calls nothing but the
// clock, so it needs no stack frame. Everything else takes the long way, Recorder::enter_region.
#pragma once

#include <algorithm>

#include "recorder/shard.hpp"

namespace perfield {

// The clocks of events: perfield's own, and the one that the event brings.
struct CounterClock {
  bool tells_time(uint32_t usual) const noexcept { return usual == Activity::counter; }
  uint64_t operator()() const noexcept { return read_counter(); }
};
struct GivenTicks {
  uint64_t ticks;  // 0: not known
  bool tells_time(uint32_t usual) const noexcept { return usual >= Activity::given_time && ticks; }
  uint64_t operator()() const noexcept { return ticks; }
};

template <class Clock>
__attribute__((always_inline)) inline bool Shard::enter_usual(uint32_t handle,
                                                              Clock clock) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (__builtin_expect(!clock.tells_time(activity->usual.load(relaxed)), 0)) return false;
  const auto d = uint32_t(depth.load(relaxed));
  if (__builtin_expect(handle >= usual_regions || d >= kStackDepth, 0)) return false;
  RegionCounters& row = regions[handle];
  const uint64_t region = row.usual.load(relaxed);
  if (__builtin_expect(!region, 0)) return false;
  Frame& f = stack[d];
  f.inner_period.store(0, relaxed);
  f.region.store(region, relaxed);
  f.nearest.store(int32_t(d), relaxed);
  f.entered.store(clock(), relaxed);
  row.count.add(1);
  ++row.open;
  depth.store(int32_t(d + 1), std::memory_order_release);
  return true;
}

template <class Clock>
__attribute__((always_inline)) inline bool Shard::leave_usual(uint32_t handle,
                                                              Clock clock) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const Activity& shared = *activity;
  if (__builtin_expect(!clock.tells_time(shared.usual.load(relaxed)), 0)) return false;
  const auto d = uint32_t(depth.load(relaxed)) - 1;
  if (__builtin_expect(handle >= usual_regions || d >= kStackDepth, 0)) return false;
  RegionCounters& row = regions[handle];
  Frame& f = stack[d];
  // Then the frame counts: only such entries become usual.
  if (__builtin_expect(f.region.load(relaxed) != row.usual.load(relaxed), 0)) return false;
  const uint64_t now = clock();
  const uint64_t period = shared.period.load(relaxed);
  uint64_t inner = 0;
  if (f.is_in(period)) {
    if (__builtin_expect(f.grown.load(relaxed) != 0, 0)) {
      leave_top(now);
      return true;
    }
    inner = f.children.load(relaxed);
  }
  const uint64_t begin = std::max(f.entered.load(relaxed), shared.since_ticks.load(relaxed));
  const uint64_t spent = growth(now, begin);
  if (row.open == 1) row.inclusive.add(spent);
  row.self.add(growth(spent, inner));
  if (d > 0) {
    const int32_t outer = (&f)[-1].nearest.load(relaxed);
    if (outer >= 0) stack[outer].add_child(spent, period);
  }
  touched(News::regions, touched_regions, handle);
  --row.open;
  depth.store(int32_t(d), std::memory_order_release);
  return true;
}

inline bool Shard::enter_unmeasured(uint32_t handle) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto d = uint32_t(depth.load(relaxed));
  if (activity->usual.load(relaxed) != Activity::no_time || handle >= usual_regions ||
      d >= kStackDepth)
    return false;
  RegionCounters& row = regions[handle];
  const uint64_t region = row.usual.load(relaxed);
  if (!region) return false;
  stack[d].region.store(region, relaxed);
  stack[d].nearest.store(int32_t(d), relaxed);
  ++row.open;
  depth.store(int32_t(d + 1), std::memory_order_release);
  return true;
}

inline bool Shard::leave_unmeasured(uint32_t handle) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto d = uint32_t(depth.load(relaxed)) - 1;
  if (activity->usual.load(relaxed) != Activity::no_time || handle >= usual_regions ||
      d >= kStackDepth || stack[d].region.load(relaxed) != regions[handle].usual.load(relaxed))
    return false;
  touched(News::regions, touched_regions, handle);
  --regions[handle].open;
  depth.store(int32_t(d), std::memory_order_release);
  return true;
}

}  // namespace perfield
