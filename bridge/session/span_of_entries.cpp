// SPDX-License-Identifier: BSD-3-Clause
//
// span_of_entries.cpp - see span_of_entries.hpp. With n entries in the first quarter, level k holds
// n (3/4)^k entries of 2^k steps: 1.5 times the steps of the level before.
#include "session/span_of_entries.hpp"

#include <algorithm>

namespace perfield {
namespace {

constexpr uint64_t kMostSteps = uint64_t(1) << 30;  // an entry counts them in 32 bits
constexpr uint64_t kLastEntries = 3;  // the next one, the open one at the end, teardown

}  // namespace

void SpanOfEntries::configure(uint64_t steps) noexcept {
  steps_at_0_ = std::max<uint64_t>(steps, 1);
  while (steps_at_0_ << (most_ + 1) <= kMostSteps) ++most_;
}

void SpanOfEntries::written(uint64_t bytes, uint64_t left) noexcept {
  of_level_ += bytes;
  largest_ = std::max(largest_, bytes);
  if (left < kLastEntries * largest_ + kEndBytes) {
    full_ = true;
    wanted_ = most_;
    cause_ = Cause::limit;
  } else if (of_level_ >= left / 3) {  // a quarter of what was left when the level began
    lengthen(Cause::limit);
  }
}

void SpanOfEntries::also_written(uint64_t bytes, uint64_t left) noexcept {
  of_level_ += bytes;
  if (!full_ && of_level_ >= left / 3) lengthen(Cause::limit);
}

void SpanOfEntries::lengthen(Cause cause) noexcept {
  of_level_ = 0;
  if (wanted_ >= most_) return;
  ++wanted_;
  cause_ = cause;
}

bool SpanOfEntries::begin_entry(uint64_t first) noexcept {
  const int before = level_;
  for (int level = wanted_; level > level_; --level)
    if (full_ || first % (steps_at_0_ << level) == 0) level_ = level;
  return level_ != before;
}

}  // namespace perfield
