// SPDX-License-Identifier: BSD-3-Clause
//
// rank_clocks.hpp - puts the stamps of all ranks on one clock, as perfield.run.clocks does for
// Python: ranks of a node share its CLOCK_MONOTONIC, other nodes follow the reference's by the
// comparisons that `clock` entries state. docs/stream.md has the entries.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "waits/arrivals.hpp"

namespace perfield {

class RankClocks {
 public:
  // The JSON bodies of a rank's `rank` and `clock` entries.
  void add_rank(int32_t rank, const std::string& body);
  void add_comparison(int32_t rank, const std::string& body);

  // Of ranks 0 .. n_ranks - 1.
  struct Joined {
    std::vector<waits::RankClock> clock;
    std::vector<double> uncertainty_ns;  // infinite: not known
    std::vector<int64_t> node;           // equal where ranks share a clock
  };
  // last_ns: the last stamp of each rank, on its own clock.
  Joined join(size_t n_ranks, const std::vector<int64_t>& last_ns) const;

 private:
  struct Zero {  // of a rank's stamps
    std::string node;
    int64_t monotonic_ns, realtime_ns, realtime_error_ns;
  };
  struct Comparison {  // of a node's clock with that of the reference's node
    int32_t reference;
    int64_t at, offset;
    double drift, error, wander;
    std::vector<int64_t> times;
  };
  std::map<int32_t, Zero> zeros_;
  std::map<std::string, Comparison> compared_;  // the newest, by node
};

}  // namespace perfield
