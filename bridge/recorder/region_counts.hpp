// SPDX-License-Identifier: BSD-3-Clause
//
// region_counts.hpp - what the counters of one thread came to inside each region: how much they
// grew between entering and leaving it, for the outermost entry as with time. Exists only where
// counters are followed. Who may touch what is as in shard.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/counter.hpp"
#include "recorder/counters.hpp"
#include "recorder/kernel_counters.hpp"
#include "recorder/region_bits.hpp"
#include "recorder/shard.hpp"

namespace perfield {

class RegionCounts {
 public:
  using Values = uint64_t[kMostFollowed];

  // nullptr without memory. Given back with the shard that it belongs to. Regions that are open
  // already count from here on.
  static RegionCounts* create(uint32_t max_regions, uint64_t period) noexcept;
  static void destroy(RegionCounts* counts, uint32_t max_regions) noexcept;

  // What it takes of memory with so many regions.
  static size_t bytes(uint32_t regions) noexcept;

  // --- by the thread that counts ----------------------------------------------------------------
  // Before a region is entered; the first time the counters begin.
  void start(const Counters& counters) noexcept {
    if (!kernel_.is_open()) kernel_.open(counters);
    n_ = counters.size();
  }
  // Then, as which frame of the stack.
  void enter(int32_t frame, uint64_t period) noexcept;
  // Before a region is left.
  void look() noexcept;
  // The outermost entry of a region is left, which was entered as that frame.
  void leave(int32_t frame, uint32_t region, uint64_t period) noexcept;
  // What a counter stands at that a source has read.
  void stands(int counter, uint64_t value) noexcept;
  // The next thread begins anew; what this one counted stays until it is folded.
  void thread_ended() noexcept;

  // --- by the thread that closes a step: see Shard::fold and open ------------------------------
  void fold(const Shard& shard, uint32_t n_regions, uint64_t period) noexcept;
  void open(const Shard& shard, uint32_t n_regions, uint64_t period) noexcept;

  // What was folded and is not yet written; nullptr: nothing of that region.
  const Values* carry_of(uint32_t region) const noexcept {
    return carried_.has(region) ? &carry_[region] : nullptr;
  }
  void empty(uint32_t region) noexcept;

  bool shared_registers() const noexcept { return kernel_.shared_registers(); }

 private:
  using Row = Counter[kMostFollowed];
  struct Snapshot {
    Counter period;  // in which it was taken
    Row values;
  };

  RegionCounts() = default;
  void read_from_outside() noexcept;
  Values& carry(uint32_t region) noexcept;
  // Where the part of a frame that belongs to this period begins; nullptr: not known.
  const Row* beginning(int32_t frame, uint64_t period) const noexcept;

  KernelCounters kernel_;
  int n_ = 0;                             // of the counters, as far as this thread knows
  Values now_ = {};                       // as read last by the thread itself
  Row last_;                              // the same, for others
  Values outside_ = {};                   // as read last by the closing thread
  bool handed_over_[kMostFollowed] = {};  // a source has told a value in this thread
  Snapshot frames_[kStackDepth];
  Snapshot base_;  // where this period began, for regions that were open then

  Row* totals_ = nullptr;     // by region, only grow
  Values* closed_ = nullptr;  // totals_ at the last closing
  Values* carry_ = nullptr;   // folded, not yet written
  RegionBits touched_;        // set for good
  RegionBits carried_;
};

}  // namespace perfield
