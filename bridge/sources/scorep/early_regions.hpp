// SPDX-License-Identifier: BSD-3-Clause
//
// early_regions.hpp - keeps a thread's regions until perfield starts. Before MPI_Init nobody knows
// which of them the configuration selects. Regions still open when perfield starts are measured
// from there on; regions that ended before count as left out. If perfield does not start for long,
// regions are no longer followed, only counted.
#pragma once

#include <atomic>
#include <cstdint>

#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {

class EarlyRegions {
 public:
  static inline std::atomic<uint64_t> left_out{0};  // over all threads that have woken

  bool is_followed() const noexcept { return left_out_ < kMostFollowed; }
  void count_only() noexcept { ++left_out_; }

  void enter(Handle region) noexcept {
    if (depth_ < kDeepest) regions_[depth_] = region;
    ++depth_;
  }

  // Also ends unclosed regions inside it.
  void leave(Handle region) noexcept {
    uint32_t n = depth_;
    if (n <= kDeepest)
      while (n > 0 && regions_[n - 1] != region) --n;
    if (n == 0) return;
    left_out_ += depth_ - n + 1;
    depth_ = n - 1;
  }

  // Passes them on, outermost first, and forgets them.
  template <typename F>
  void take(F enter_now) noexcept {
    if (is_followed())
      for (uint32_t n = 0; n < depth_ && n < kDeepest; ++n) enter_now(regions_[n]);
    if (depth_ > kDeepest) left_out_ += depth_ - kDeepest;
    if (left_out_) left_out.fetch_add(left_out_, std::memory_order_relaxed);
    left_out_ = 0;
    depth_ = 0;
  }

 private:
  static constexpr uint32_t kDeepest = 24;
  static constexpr uint64_t kMostFollowed = 100'000;

  uint64_t left_out_ = 0;
  uint32_t depth_ = 0;
  Handle regions_[kDeepest] = {};
};

}  // namespace perfield::scorep
