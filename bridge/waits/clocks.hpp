// SPDX-License-Identifier: BSD-3-Clause
//
// clocks.hpp - the clocks of ranks: how uncertain they are against one another.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace perfield::waits {

// The clock of each rank: how uncertain it is against the others, in ns, and which ranks share one.
struct Clocks {
  size_t n_ranks;
  const double* uncertainty_ns;  // n_ranks; not finite: not known, so nothing certain is said
  const int64_t* clock;          // n_ranks: equal where ranks share a clock; nullptr: none do

  bool has(int32_t rank) const { return rank >= 0 && size_t(rank) < n_ranks; }
  bool are_shared(int32_t a, int32_t b) const { return a == b || (clock && clock[a] == clock[b]); }
  double uncertainty_of(int32_t rank) const {
    const double ns = uncertainty_ns[rank];
    return std::isfinite(ns) ? std::max(ns, 0.0) : std::numeric_limits<double>::infinity();
  }
  // By how much the clocks of two ranks may disagree.
  double uncertainty_between(int32_t a, int32_t b) const {
    return are_shared(a, b) ? 0 : uncertainty_of(a) + uncertainty_of(b);
  }
};

}  // namespace perfield::waits
