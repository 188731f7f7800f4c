// SPDX-License-Identifier: BSD-3-Clause
//
// inside.hpp - one thread's time in calls inside each region, by class. Written by a shard's own
// thread and read by the one that closes a step, as all of a shard (shard.hpp); memory is touched
// only for regions in which there were calls.
//
// Time in calls is added to the innermost frame and handed outward when that is left. A frame's
// `inside` marks of which active period its times are (all but the lowest 8 bits) and which
// classes they hold (these): so entering a region stores one word, and leaving one without calls
// reads one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/calls.h"
#include "recorder/counter.hpp"
#include "recorder/region_bits.hpp"

namespace perfield {

struct InsideTimes {
  Counter of[kTimeClasses];  // ticks
};
struct InsideValues {
  uint64_t of[kTimeClasses];
};

// Sums by region.
class Inside {
 public:
  static size_t bytes(uint32_t max_regions) noexcept;
  // memory: so many bytes, zero.
  void place(char* memory, uint32_t max_regions) noexcept;

  // By the thread itself: the sums of a region to which something is to be added.
  InsideTimes& touch(uint32_t region) noexcept {
    touched_.set(region);
    return sums_[region];
  }

  // By the closing thread.
  void fold(uint32_t n_regions) noexcept;
  void open(uint32_t n_regions) noexcept;
  // What was folded and is not written yet, of a region to which something is to be added.
  InsideValues& carry(uint32_t region) noexcept {
    carried_.set(region);
    return carry_[region];
  }
  bool carries(uint32_t region) const noexcept { return carried_.has(region); }
  const InsideValues& carry_of(uint32_t region) const noexcept { return carry_[region]; }
  void empty(uint32_t region) noexcept {
    carried_.clear(region);
    carry_[region] = {};
  }

 private:
  InsideTimes* sums_;
  InsideValues *closed_, *carry_;
  RegionBits touched_;  // set for good
  RegionBits carried_;  // the closing thread's
};

}  // namespace perfield
