// SPDX-License-Identifier: BSD-3-Clause
//
// site_period.cpp - see site_period.hpp.
#include "recorder/site_period.hpp"

#include <algorithm>

#include "recorder/step_finder.hpp"

namespace perfield {
namespace {

constexpr uint32_t kPeriods = 3;          // that must have been seen
constexpr uint32_t kRecurs_percent = 90;  // of the intervals; the others exchange lists, say

}  // namespace

void SitePeriod::hit(uint64_t partners, uint32_t calls) noexcept {
  if (n_ > 0) intervals_[(n_ - 1) % kMost] = {partners - last_partners_, calls - last_calls_ == 1};
  last_partners_ = partners;
  last_calls_ = calls;
  ++n_;
}

uint32_t SitePeriod::period() const noexcept {
  if (n_ <= kPeriods) return 0;
  const uint32_t n = std::min(n_ - 1, kMost);
  if (recurs(1, n)) return 1;
  for (uint32_t k = 2; kPeriods * k <= n; ++k)
    if (recurs(k, n)) return is_step(k) ? k : 1;
  return n < kMost ? 0 : 1;
}

bool SitePeriod::recurs(uint32_t period, uint32_t n) const noexcept {
  uint32_t same = 0;
  for (uint32_t i = period; i < n; ++i) same += newest(i).partners == newest(i - period).partners;
  return 100 * same >= kRecurs_percent * (n - period);
}

// Intervals that differ in several places are those of a loop over neighbours. Where all but one
// are alike, nobody knows three neighbours from three steps and output, unless the hits follow each
// other directly; see StepFinder::relation.
bool SitePeriod::is_step(uint32_t period) const noexcept {
  uint32_t most = 0;
  bool is_direct = false;
  for (uint32_t i = 0; i < period; ++i) {
    uint32_t same = 0;
    bool direct = true;
    for (uint32_t j = 0; j < period; ++j) {
      if (newest(j).partners != newest(i).partners) continue;
      ++same;
      direct = direct && newest(j).is_direct;
    }
    is_direct = same < most ? is_direct : direct || (same == most && is_direct);
    most = std::max(most, same);
  }
  return most + 1 < period || is_direct || (period > 2 && !StepFinder::is_round(period));
}

}  // namespace perfield
