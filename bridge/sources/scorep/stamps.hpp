// SPDX-License-Identifier: BSD-3-Clause
//
// stamps.hpp - converts Score-P's time stamps to ticks of perfield's clock, so that no event reads
// a clock. Score-P reports neither its clock nor the rate. Each thread finds both by comparing
// stamps with the possible clocks. Stamps that match none of them are not used.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "platform/counter.hpp"
#include "recorder/source.h"

namespace perfield::scorep {

class Stamps {
 public:
  // Converts the stamp of an event that is happening now. 0: read perfield's clock instead.
  uint64_t ticks(uint64_t stamp) noexcept {
    return kind_ == Kind::own ? stamp : kind_ == Kind::none ? 0 : compared(stamp);
  }
  // Whether stamps are ticks already.
  bool are_ticks() const noexcept { return kind_ == Kind::own; }

 private:
  enum class Kind : uint8_t { unknown, own, raw, counter, none };

  struct Pair {
    uint64_t stamp, ticks;
  };

  static constexpr uint64_t kLatest = 20'000'000;  // largest age of an event: some milliseconds
  static constexpr uint64_t kAgain = 20'000'000;   // ticks between two comparisons
  static constexpr int kMostTries = 16;

  static uint64_t raw() noexcept {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
  }

  uint64_t compared(uint64_t stamp) noexcept {
    if (kind_ == Kind::unknown) return find_kind(stamp);
    // Negative if a stamp is older than the last comparison.
    const auto since = [&] { return int64_t(stamp - anchor_.stamp); };
    if (since() >= int64_t(kAgain)) anchor();
    if (rate_ == 0) return 0;
    return anchor_.ticks + uint64_t(int64_t(double(since()) * rate_));
  }

  // The nearest of the clocks read just after the stamp: CLOCK_MONOTONIC may be only slightly ahead
  // of CLOCK_MONOTONIC_RAW.
  uint64_t find_kind(uint64_t stamp) noexcept {
    const struct {
      Kind kind;
      uint64_t age;
    } clocks[] = {{Kind::own, perfield_source_ticks() - stamp},
                  {Kind::raw, raw() - stamp},
                  {Kind::counter, read_counter() - stamp}};
    const auto nearest =
        *std::min_element(std::begin(clocks), std::end(clocks),
                          [](const auto& a, const auto& b) { return a.age < b.age; });
    if (nearest.age < kLatest) {
      kind_ = nearest.kind;
      if (kind_ == Kind::own) return stamp;
      first_ = anchor_ = both();
    } else if (++tries_ == kMostTries) {  // an interrupted thread fails once, not this often
      kind_ = Kind::none;
    }
    return 0;
  }

  Pair both() const noexcept {
    const uint64_t before = perfield_source_ticks();
    const uint64_t stamp = kind_ == Kind::raw ? raw() : read_counter();
    return {stamp, before + (perfield_source_ticks() - before) / 2};
  }

  // Different clocks drift apart, so both are read together now and then.
  void anchor() noexcept {
    anchor_ = both();
    rate_ = double(anchor_.ticks - first_.ticks) / double(anchor_.stamp - first_.stamp);
  }

  Kind kind_ = Kind::unknown;
  int tries_ = 0;
  Pair first_{}, anchor_{};
  double rate_ = 0;  // ticks per unit of the stamp; 0: unknown yet
};

}  // namespace perfield::scorep
