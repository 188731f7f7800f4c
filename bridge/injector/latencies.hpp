// SPDX-License-Identifier: BSD-3-Clause
//
// latencies.hpp - the latencies that this rank's messages get, read from a trace file: one line
//   perfield-latencies 1 <offset> <series> <messages> <repeats>
// then a line of JSON that says where they come from, and at <offset>, in bytes, nanoseconds as
// 32-bit numbers (little endian), <series> times <messages>. Rank r takes series r modulo <series>.
#pragma once

#include <cstdint>

namespace perfield::injector {

class Latencies {
 public:
  // Reads the rank's series into memory, so that a file that is cut later does no harm. Returns ""
  // or, as a sentence's end, why there is none.
  const char* read(const char* path, int rank) noexcept;

  // Of the k-th message from one rank, from 0; false if the trace is over.
  bool of_message(uint64_t k, uint64_t* ns) const noexcept {
    if (k >= n_ && !repeats_) return false;
    *ns = ns_[k % n_];
    return true;
  }
  uint64_t size() const noexcept { return n_; }

 private:
  const uint32_t* ns_ = nullptr;
  uint64_t n_ = 0;
  bool repeats_ = false;
};

}  // namespace perfield::injector
