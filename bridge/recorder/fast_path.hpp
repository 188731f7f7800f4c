// SPDX-License-Identifier: BSD-3-Clause
//
// fast_path.hpp - the fast path into and out of a region, for nearly all events: the region counts
// for itself, its path was predicted, begin and end match, and no kernel counter is read. Calls
// nothing but the clock, so it needs no stack frame. Everything else takes the slow path,
// Recorder::enter_region.
#pragma once

#include <algorithm>

#include "recorder/thread_profile.hpp"

namespace perfield {

// The clocks of events: perfield's own, and the one that the event brings.
struct CounterClock {
  bool has_time(uint32_t path) const noexcept { return path == Activity::counter; }
  uint64_t operator()() const noexcept { return read_counter(); }
};
struct GivenTicks {
  uint64_t ticks;  // 0: not known
  bool has_time(uint32_t path) const noexcept { return path >= Activity::given_time && ticks; }
  uint64_t operator()() const noexcept { return ticks; }
};
// Either, where the thread has looked at samples.
struct SampledClock {
  uint64_t ticks;  // 0: perfield's own clock
  bool has_time(uint32_t path) const noexcept {
    return path == Activity::sampled_counter || (path == Activity::sampled_given_time && ticks);
  }
  uint64_t operator()() const noexcept { return ticks ? ticks : read_counter(); }
};

template <class Clock>
__attribute__((always_inline)) inline bool ThreadProfile::enter_fast(uint32_t handle,
                                                                     Clock clock) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (__builtin_expect(!clock.has_time(activity->fast_path.load(relaxed)), 0)) return false;
  const auto d = uint32_t(depth.load(relaxed));
  if (__builtin_expect(d >= fast_depth, 0)) return false;
  return enter_path(d, *stack[int32_t(d) - 1].predicted, handle, clock);
}

// The same where the prediction was wrong, and is right from now on.
template <class Clock>
inline bool ThreadProfile::enter_corrected(uint32_t handle, Clock clock) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (!clock.has_time(activity->fast_path.load(relaxed))) return false;
  const auto d = uint32_t(depth.load(relaxed));
  if (d >= fast_depth) return false;
  const RegionStackEntry& outside = stack[int32_t(d) - 1];
  const uint32_t around = outside.path.load(relaxed);
  const uint32_t path = paths.known->is_other(around) ? 0 : paths.known->find(around, handle);
  if (!path || !enter_path(d, path, handle, clock)) return false;
  *outside.predicted = path;
  return true;
}

template <class Clock>
__attribute__((always_inline)) inline bool ThreadProfile::enter_path(uint32_t d, uint32_t path,
                                                                     uint32_t handle,
                                                                     Clock clock) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  PathCounters& row = paths.rows[path];
  const uint64_t region = row.fast_region.load(relaxed);
  if (__builtin_expect(!RegionStackEntry::is_of(region, handle), 0)) return false;
  RegionStackEntry& f = stack[int32_t(d)];
  f.inner_period.store(0, relaxed);
  f.region.store(region, relaxed);
  f.nearest.store(int32_t(d), relaxed);
  f.path.store(path, relaxed);
  f.predicted = &row.first_inside;
  f.entered.store(clock(), relaxed);
  row.count.add(1);
  depth.store(int32_t(d + 1), std::memory_order_release);
  return true;
}

template <class Clock>
__attribute__((always_inline)) inline bool ThreadProfile::leave_fast(uint32_t handle,
                                                                     Clock clock) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const Activity& shared = *activity;
  if (__builtin_expect(!clock.has_time(shared.fast_path.load(relaxed)), 0)) return false;
  const auto d = uint32_t(depth.load(relaxed)) - 1;
  if (__builtin_expect(d >= fast_depth, 0)) return false;
  RegionStackEntry& f = stack[int32_t(d)];
  // Then the entry counts: only such ones took the fast path.
  if (__builtin_expect(!RegionStackEntry::is_of(f.region.load(relaxed), handle), 0)) return false;
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
  const uint32_t path = f.path.load(relaxed);
  PathCounters& row = paths.rows[path];
  row.inclusive.add(spent);
  row.self.add(growth(spent, inner));
  RegionStackEntry& outside = (&f)[-1];
  outside.predicted = &row.next_beside;
  const int32_t outer = outside.nearest.load(relaxed);
  if (outer >= 0) stack[outer].add_child(spent, period);
  mark_dirty(paths.dirty, path, dirty, DirtyTable::paths);
  depth.store(int32_t(d), std::memory_order_release);
  return true;
}

inline bool ThreadProfile::enter_unmeasured(uint32_t handle) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto d = uint32_t(depth.load(relaxed));
  if (activity->fast_path.load(relaxed) != Activity::no_time || d >= fast_depth) return false;
  RegionStackEntry& f = stack[int32_t(d)];
  const uint32_t path = *(&f)[-1].predicted;
  PathCounters& row = paths.rows[path];
  const uint64_t region = row.fast_region.load(relaxed);
  if (!RegionStackEntry::is_of(region, handle)) return false;
  f.region.store(region, relaxed);
  f.nearest.store(int32_t(d), relaxed);
  f.path.store(path, relaxed);
  f.predicted = &row.first_inside;
  depth.store(int32_t(d + 1), std::memory_order_release);
  return true;
}

inline bool ThreadProfile::leave_unmeasured(uint32_t handle) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto d = uint32_t(depth.load(relaxed)) - 1;
  if (activity->fast_path.load(relaxed) != Activity::no_time || d >= fast_depth) return false;
  RegionStackEntry& f = stack[int32_t(d)];
  if (!RegionStackEntry::is_of(f.region.load(relaxed), handle)) return false;
  const uint32_t path = f.path.load(relaxed);
  (&f)[-1].predicted = &paths.rows[path].next_beside;
  mark_dirty(paths.dirty, path, dirty, DirtyTable::paths);
  depth.store(int32_t(d), std::memory_order_release);
  return true;
}

}  // namespace perfield
