// SPDX-License-Identifier: BSD-3-Clause
//
// step_pace.hpp - how many hits of the site that perfield has found make one step, so that closing
// steps takes about a hundredth of the time at most. Rank 0 decides by its clock, for a hit that
// lies as far ahead again; the session carries that to the others (session/agreed_steps.hpp), which
// look for it in time. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace perfield {

// What a hit of a call site asks for: to close a step, to ask the other ranks, or both.
enum HitAnswer : uint8_t { kHitIsNothing, kHitCloses, kHitAsks, kHitAsksAndCloses };

class StepPace {
 public:
  static constexpr uint64_t kShortest_ns = 1'000'000;
  struct Change {
    uint64_t from = 0, every = 0;  // a hit, and how many make a step from there on; 0: none
  };

  // The site has been hit so many times.
  HitAnswer met(uint64_t hits) noexcept {
    while (next_[0].every && hits >= next_[0].from) {
      every_ = next_[0].every;
      next_[0] = next_[1];
      next_[1] = {};
    }
    const bool asks = hits >= next_look_;
    if (asks) next_look_ = hits + std::max<uint64_t>(1, hits / kPart);
    return HitAnswer((hits % every_ == 0 ? kHitCloses : 0) | (asks ? kHitAsks : 0));
  }
  // Another site closes steps from now on.
  void restart() noexcept { *this = {}; }
  // On rank 0, where met() asks: what it wants to change, if anything.
  Change wish(uint64_t hits, uint64_t now_ns) noexcept;
  void change(const Change& change) noexcept { next_[next_[0].every ? 1 : 0] = change; }
  uint64_t every() const noexcept { return every_; }

 private:
  static constexpr uint64_t kPart = 16, kMeasured = 8;

  uint64_t every_ = 1, next_look_ = 0;
  Change next_[2];       // another rank may already be beyond the first
  uint64_t wanted_ = 1;  // by this rank
  uint64_t since_hits_ = 0, since_ns_ = 0, measures_at_ = 0;  // hits; 0: not begun
};

}  // namespace perfield
