// SPDX-License-Identifier: BSD-3-Clause
//
// usual_region.hpp - the short way into and out of a region, for nearly all events: the region
// counts for itself, its path was guessed, begin and end match, and no kernel counter is read.
// Calls nothing but the clock, so it needs no stack frame. Everything else takes the long way,
// Recorder::enter_region.
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
// Either, where the thread has looked at samples.
struct SampledClock {
  uint64_t ticks;  // 0: perfield's own clock
  bool tells_time(uint32_t usual) const noexcept {
    return usual == Activity::sampled_counter || (usual == Activity::sampled_given_time && ticks);
  }
  uint64_t operator()() const noexcept { return ticks ? ticks : read_counter(); }
};

template <class Clock>
__attribute__((always_inline)) inline bool Shard::enter_usual(uint32_t handle,
                                                              Clock clock) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (__builtin_expect(!clock.tells_time(activity->usual.load(relaxed)), 0)) return false;
  const auto d = uint32_t(depth.load(relaxed));
  if (__builtin_expect(d >= usual_depth, 0)) return false;
  return enter_path(d, *stack[int32_t(d) - 1].guess, handle, clock);
}

// The same where the guess was wrong, and is right from now on.
template <class Clock>
inline bool Shard::enter_found(uint32_t handle, Clock clock) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (!clock.tells_time(activity->usual.load(relaxed))) return false;
  const auto d = uint32_t(depth.load(relaxed));
  if (d >= usual_depth) return false;
  const Frame& outside = stack[int32_t(d) - 1];
  const uint32_t around = outside.path.load(relaxed);
  const uint32_t path = known_paths->is_other(around) ? 0 : known_paths->find(around, handle);
  if (!path || !enter_path(d, path, handle, clock)) return false;
  *outside.guess = path;
  return true;
}

template <class Clock>
__attribute__((always_inline)) inline bool Shard::enter_path(uint32_t d, uint32_t path,
                                                             uint32_t handle,
                                                             Clock clock) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  PathCounters& row = paths[path];
  const uint64_t region = row.usual.load(relaxed);
  if (__builtin_expect(!Frame::is_of(region, handle), 0)) return false;
  Frame& f = stack[int32_t(d)];
  f.inner_period.store(0, relaxed);
  f.region.store(region, relaxed);
  f.nearest.store(int32_t(d), relaxed);
  f.path.store(path, relaxed);
  f.guess = &row.first_inside;
  f.entered.store(clock(), relaxed);
  row.count.add(1);
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
  if (__builtin_expect(d >= usual_depth, 0)) return false;
  Frame& f = stack[int32_t(d)];
  // Then the frame counts: only such entries are usual.
  if (__builtin_expect(!Frame::is_of(f.region.load(relaxed), handle), 0)) return false;
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
  PathCounters& row = paths[path];
  row.inclusive.add(spent);
  row.self.add(growth(spent, inner));
  Frame& outside = (&f)[-1];
  outside.guess = &row.next_beside;
  const int32_t outer = outside.nearest.load(relaxed);
  if (outer >= 0) stack[outer].add_child(spent, period);
  touched(News::paths, touched_paths, path);
  depth.store(int32_t(d), std::memory_order_release);
  return true;
}

inline bool Shard::enter_unmeasured(uint32_t handle) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto d = uint32_t(depth.load(relaxed));
  if (activity->usual.load(relaxed) != Activity::no_time || d >= usual_depth) return false;
  Frame& f = stack[int32_t(d)];
  const uint32_t path = *(&f)[-1].guess;
  PathCounters& row = paths[path];
  const uint64_t region = row.usual.load(relaxed);
  if (!Frame::is_of(region, handle)) return false;
  f.region.store(region, relaxed);
  f.nearest.store(int32_t(d), relaxed);
  f.path.store(path, relaxed);
  f.guess = &row.first_inside;
  depth.store(int32_t(d + 1), std::memory_order_release);
  return true;
}

inline bool Shard::leave_unmeasured(uint32_t handle) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto d = uint32_t(depth.load(relaxed)) - 1;
  if (activity->usual.load(relaxed) != Activity::no_time || d >= usual_depth) return false;
  Frame& f = stack[int32_t(d)];
  if (!Frame::is_of(f.region.load(relaxed), handle)) return false;
  const uint32_t path = f.path.load(relaxed);
  (&f)[-1].guess = &paths[path].next_beside;
  touched(News::paths, touched_paths, path);
  depth.store(int32_t(d), std::memory_order_release);
  return true;
}

}  // namespace perfield
