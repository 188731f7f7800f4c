// SPDX-License-Identifier: BSD-3-Clause
//
// clock_windows.hpp - windows of the clock, which take the place of time steps in a run that closes
// none. Calls of MPI close them: where a rank makes none, its window goes on. The boundaries are
// the same on all ranks. From 256 windows on twice as many share an entry, and so on with each
// doubling, so that a run of a day has 2,300 entries.
#pragma once

#include <cstdint>

#include "format/entry.hpp"

namespace perfield {

class ClockWindows {
 public:
  static constexpr int64_t kLength_ns = kWindow_ns;
  static constexpr uint64_t kShared = 256;

  // CLOCK_REALTIME at which the run started, the same on all ranks.
  explicit ClockWindows(int64_t run_start_ns = 0) noexcept : start_ns_(run_start_ns) {}

  // How many windows have passed since the last entry and want one now; 0: none.
  uint32_t passed(int64_t realtime_ns) const noexcept {
    const uint64_t n = before(realtime_ns), shared = shared_from(written_);
    return n / shared > written_ / shared ? uint32_t(n - written_) : 0;
  }
  void written(uint32_t n) noexcept { written_ += n; }
  uint64_t written() const noexcept { return written_; }
  // CLOCK_REALTIME at which the next entry is due.
  int64_t due_ns() const noexcept {
    const uint64_t shared = shared_from(written_);
    return start_ns_ + int64_t((written_ / shared + 1) * shared) * kLength_ns;
  }
  // Seconds from the start of the run to the end of the last window that was written.
  double end_s() const noexcept { return double(written_) * double(kLength_ns) * 1e-9; }

 private:
  uint64_t before(int64_t realtime_ns) const noexcept {
    return realtime_ns > start_ns_ ? uint64_t((realtime_ns - start_ns_) / kLength_ns) : 0;
  }
  static uint64_t shared_from(uint64_t window) noexcept {
    uint64_t shared = 1;
    while (window >= kShared * shared) shared *= 2;
    return shared;
  }

  int64_t start_ns_;
  uint64_t written_ = 0;
};

}  // namespace perfield
