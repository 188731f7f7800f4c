// SPDX-License-Identifier: BSD-3-Clause
//
// clock_windows.hpp - windows of the clock, which take the place of time steps in a run that closes
// none. Calls of MPI close them: where a rank makes none, its window goes on. The boundaries are
// the same on all ranks. From 256 windows on twice as many share an entry, and so on with each
// doubling, so that a run of a day has 2,300 entries. Where steps were closed and taken back,
// readers put their entries into windows, too.
#pragma once

#include <algorithm>
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
  // CLOCK_REALTIME at which the n-th entry from now on is due.
  int64_t due_ns(int64_t realtime_ns, uint64_t n) const noexcept {
    const uint64_t now = before(realtime_ns), shared = shared_from(now);
    return start_ns_ + int64_t((now / shared + n) * shared) * kLength_ns;
  }
  // Seconds from the start of the run to the end of the last window that was written.
  double end_s() const noexcept { return end_s(written_); }
  static double end_s(uint64_t n) noexcept { return double(n) * double(kLength_ns) * 1e-9; }

  // The windows of an entry that closed for another reason: from the one in which it begins on, the
  // ones that it ends, or that one alone. Several entries of a rank may be of the same windows.
  struct Range {
    uint64_t last;
    uint32_t n;
  };
  Range of_entry(int64_t end_realtime_ns, uint64_t length_ns) const noexcept {
    const uint64_t until_ns = uint64_t(std::max<int64_t>(end_realtime_ns, 0));
    const uint64_t begin = before(int64_t(until_ns - std::min(length_ns, until_ns)));
    const uint64_t end = before(int64_t(until_ns)), shared = shared_from(begin);
    const uint64_t first = begin / shared * shared;
    const uint64_t next = std::max(first + shared, end / shared_from(end) * shared_from(end));
    return {next - 1, uint32_t(next - first)};
  }

 private:
  uint64_t before(int64_t realtime_ns) const noexcept {
    if (realtime_ns <= start_ns_) return 0;
    return (uint64_t(realtime_ns) - uint64_t(start_ns_)) / uint64_t(kLength_ns);
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
