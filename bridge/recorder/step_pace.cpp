// SPDX-License-Identifier: BSD-3-Clause
//
// step_pace.cpp - see step_pace.hpp.
#include "recorder/step_pace.hpp"

namespace perfield {

StepPace::Change StepPace::wish(uint64_t hits, uint64_t now_ns) noexcept {
  if (measures_at_ && hits < measures_at_) return {};
  const uint64_t passed_hits = hits - since_hits_, passed_ns = now_ns - since_ns_;
  const bool begins = !measures_at_;
  since_hits_ = hits;
  since_ns_ = now_ns;
  measures_at_ = begins ? hits + kMeasured : 3 * hits;
  if (begins) return {};
  uint64_t every = 1;
  while (every * passed_ns < kShortest_ns * passed_hits) every *= 2;
  if (every == wanted_) return {};
  wanted_ = every;
  return {2 * hits, every};
}

}  // namespace perfield
