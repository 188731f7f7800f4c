// SPDX-License-Identifier: BSD-3-Clause
//
// inside.cpp - time in calls inside regions, from the thread's counting to what a step carries: the
// sums by region, and a shard's part in it. See inside.hpp.
#include "recorder/inside.hpp"

#include "recorder/shard.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

// The classes of which a frame holds times of this period, as bits.
uint64_t classes_of(const Frame& frame, uint64_t period) noexcept {
  const uint64_t mark = frame.inside.load(relaxed);
  return mark >> 8 == period ? mark & 0xFF : 0;
}

}  // namespace

size_t Inside::bytes(uint32_t max_regions) noexcept {
  return max_regions * (sizeof(InsideTimes) + 2 * sizeof(InsideValues)) +
         (2 * RegionBits::bytes(max_regions) + 63) / 64 * 64;
}

void Inside::place(char* memory, uint32_t max_regions) noexcept {
  sums_ = reinterpret_cast<InsideTimes*>(memory);
  closed_ = reinterpret_cast<InsideValues*>(sums_ + max_regions);
  carry_ = closed_ + max_regions;
  char* const bits = touched_.place(reinterpret_cast<char*>(carry_ + max_regions), max_regions);
  carried_.place(bits, max_regions);
}

void Inside::fold(uint32_t n_regions) noexcept {
  touched_.for_each(n_regions, [this](uint32_t region) {
    for (int time_class = 0; time_class < kOwnClasses; ++time_class) {
      const uint64_t sum = sums_[region].of[time_class].get();
      const uint64_t passed = growth(sum, closed_[region].of[time_class]);
      if (passed) carry(region).of[time_class] += passed;
    }
  });
}

void Inside::open(uint32_t n_regions) noexcept {
  touched_.for_each(n_regions, [this](uint32_t region) {
    for (int time_class = 0; time_class < kOwnClasses; ++time_class)
      closed_[region].of[time_class] = sums_[region].of[time_class].get();
  });
}

void Shard::add_to_frame(int32_t frame, uint16_t time_class, uint64_t ticks) noexcept {
  const uint64_t period = activity->period.load(relaxed);
  const uint64_t bit = uint64_t(1) << time_class, before = classes_of(stack[frame], period);
  Counter& time = frame_times[frame].of[time_class];
  time.set((before & bit ? time.get() : 0) + ticks);
  stack[frame].inside.store(period << 8 | before | bit, relaxed);
}

void Shard::leave_inside(int32_t frame, bool outermost) noexcept {
  const Frame& f = stack[frame];
  const int32_t outer = f.parent.load(relaxed);
  uint64_t bits = classes_of(f, activity->period.load(relaxed));
  for (; bits; bits &= bits - 1) {
    const int time_class = __builtin_ctzll(bits);
    const uint64_t ticks = frame_times[frame].of[time_class].get();
    if (outermost) inside.touch(f.id.load(relaxed)).of[time_class].add(ticks);
    if (outer >= 0) add_to_frame(outer, uint16_t(time_class), ticks);
  }
}

bool Shard::is_outermost(int32_t frame) const noexcept {
  const uint32_t id = stack[frame].id.load(relaxed);
  if (!stack[frame].counted.load(relaxed)) return false;
  for (int32_t outer = 0; outer < frame; ++outer)
    if (stack[outer].counted.load(relaxed) && stack[outer].id.load(relaxed) == id) return false;
  return true;
}

// call_begun: since when the thread is inside a call whose time up to now goes to this step, or 0.
void Shard::fold_inside(uint32_t n_regions, uint64_t now, uint64_t call_begun) noexcept {
  inside.fold(n_regions);
  const uint64_t since = activity->since_ticks.load(relaxed);
  const uint64_t period = activity->period.load(relaxed);
  uint64_t times[kTimeClasses] = {}, any = 0;  // inside this frame and those in it
  for (int32_t i = std::min(depth.load(std::memory_order_acquire), kStackDepth) - 1; i >= 0; --i) {
    const Frame& f = stack[i];
    const uint32_t id = f.id.load(relaxed);
    if (!f.counted.load(relaxed) || id >= n_regions) continue;
    for (uint64_t bits = classes_of(f, period); bits; bits &= bits - 1) {
      const int time_class = __builtin_ctzll(bits);
      any |= times[time_class] += frame_times[i].of[time_class].get();
    }
    // A region that a call enters, by a function that it calls back, does not hold that call.
    if (call_begun && std::max(f.entered.load(relaxed), since) <= call_begun) {
      const uint16_t time_class = kTimeClassOfCall.of[open_call.load(relaxed)];
      if (time_class < kOwnClasses) any |= times[time_class] += growth(now, call_begun);
      call_begun = 0;
    }
    if (!any || !is_outermost(i)) continue;
    for (int time_class = 0; time_class < kOwnClasses; ++time_class)
      inside.carry(id).of[time_class] += times[time_class];
  }
}

}  // namespace perfield
