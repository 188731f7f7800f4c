// SPDX-License-Identifier: BSD-3-Clause
//
// region_counts.cpp - see region_counts.hpp. A region that is open where a step closes is credited
// with what its thread's counters stand at then: those of the kernel are read for it, of those that
// a source hands over the last value holds.
#include "recorder/region_counts.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace perfield {

size_t RegionCounts::bytes(uint32_t regions) noexcept {
  return sizeof(RegionCounts) + regions * (sizeof(Row) + 2 * sizeof(Values)) +
         2 * RegionBits::bytes(regions);
}

RegionCounts* RegionCounts::create(uint32_t max_regions, uint64_t period) noexcept {
  // Fresh pages are zero and cost nothing until they are touched.
  void* memory = mmap(nullptr, bytes(max_regions), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* counts = new (memory) RegionCounts;
  counts->base_.period.set(period);
  counts->totals_ = reinterpret_cast<Row*>(counts + 1);
  counts->closed_ = reinterpret_cast<Values*>(counts->totals_ + max_regions);
  counts->carry_ = counts->closed_ + max_regions;
  char* const bits = reinterpret_cast<char*>(counts->carry_ + max_regions);
  counts->carried_.place(counts->touched_.place(bits, max_regions), max_regions);
  return counts;
}

void RegionCounts::destroy(RegionCounts* counts, uint32_t max_regions) noexcept {
  counts->kernel_.close();
  munmap(static_cast<void*>(counts), bytes(max_regions));  // nothing in it owns anything
}

// --- by the thread that counts ------------------------------------------------------------------

void RegionCounts::look() noexcept {
  kernel_.read(now_);
  for (int c = 0; c < n_; ++c) last_[c].set(now_[c]);
}

void RegionCounts::enter(int32_t frame, uint64_t period) noexcept {
  if (frame >= kStackDepth) return;
  look();
  frames_[frame].period.set(period);
  for (int c = 0; c < n_; ++c) frames_[frame].values[c].set(now_[c]);
}

const RegionCounts::Row* RegionCounts::beginning(int32_t frame, uint64_t period) const noexcept {
  if (frames_[frame].period.get() == period) return &frames_[frame].values;
  return base_.period.get() == period ? &base_.values : nullptr;
}

void RegionCounts::leave(int32_t frame, uint32_t region, uint64_t period) noexcept {
  const Row* from = beginning(frame, period);
  if (!from) return;
  for (int c = 0; c < n_; ++c) {
    const uint64_t grown = growth(now_[c], (*from)[c].get());
    if (grown) totals_[region][c].add(grown);
  }
  touched_.set(region);
}

void RegionCounts::stands(int counter, uint64_t value) noexcept {
  if (counter < 0 || counter >= kMostFollowed) return;
  if (!handed_over_[counter]) {  // what it counted before belongs to no region
    handed_over_[counter] = true;
    for (Snapshot& frame : frames_) frame.values[counter].set(value);
    base_.values[counter].set(value);
  }
  n_ = std::max(n_, counter + 1);
  now_[counter] = value;
  last_[counter].set(value);
}

void RegionCounts::thread_ended() noexcept {
  kernel_.close();
  std::fill(std::begin(handed_over_), std::end(handed_over_), false);
}

// --- by the thread that closes a step -----------------------------------------------------------

void RegionCounts::read_from_outside() noexcept {
  for (int c = 0; c < kMostFollowed; ++c) outside_[c] = last_[c].get();
  kernel_.read_from_outside(outside_);
}

RegionCounts::Values& RegionCounts::carry(uint32_t region) noexcept {
  carried_.set(region);
  return carry_[region];
}

void RegionCounts::empty(uint32_t region) noexcept {
  carried_.clear(region);
  memset(&carry_[region], 0, sizeof(Values));
}

void RegionCounts::fold(const Shard& shard, uint32_t n_regions, uint64_t period) noexcept {
  touched_.for_each(n_regions, [this](uint32_t region) {
    for (int c = 0; c < kMostFollowed; ++c) {
      const uint64_t grown = growth(totals_[region][c].get(), closed_[region][c]);
      if (grown) carry(region)[c] += grown;
    }
  });
  const int32_t depth = std::min(shard.depth.load(std::memory_order_acquire), kStackDepth);
  bool is_read = false;
  for (int32_t i = 0; i < depth; ++i) {
    const Row* from = beginning(i, period);
    const uint32_t region = shard.stack[i].id.load(std::memory_order_relaxed);
    if (!from || region >= n_regions || !shard.is_outermost(i)) continue;
    if (!is_read) read_from_outside();
    is_read = true;
    for (int c = 0; c < kMostFollowed; ++c)
      carry(region)[c] += growth(outside_[c], (*from)[c].get());
  }
}

// What was counted since the fold belongs to no step, as with time.
void RegionCounts::open(const Shard& shard, uint32_t n_regions, uint64_t period) noexcept {
  touched_.for_each(n_regions, [this](uint32_t region) {
    for (int c = 0; c < kMostFollowed; ++c) closed_[region][c] = totals_[region][c].get();
  });
  if (shard.depth.load(std::memory_order_acquire) == 0) return;
  read_from_outside();
  for (int c = 0; c < kMostFollowed; ++c) base_.values[c].set(outside_[c]);
  base_.period.set(period);
}

}  // namespace perfield
