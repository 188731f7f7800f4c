// SPDX-License-Identifier: BSD-3-Clause
//
// critical_path.hpp - the chain of work that decided how long some steps took: from the last event
// backwards, and to the causing rank wherever the rank on the path waited. Only work on this path
// makes the run shorter. Also what the same messages would take on other terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "waits/timeline.hpp"

namespace perfield::waits {

// Time on the path.
struct OnPath {
  int64_t step;
  int32_t rank;
  int32_t pad;
  double computing_ns, communicating_ns;
};

// The parts of the path by step and rank. They add up to the time from its first to its last
// moment. Where a wait is not explained, the path stays on the rank, and the wait counts as
// communication.
std::vector<OnPath> critical_path(const Event* events, const State* states,
                                  const Timeline& timeline);

// Replays the calls of all ranks: rank r computes factor[r] times as long as it did, and how long
// it waits follows from that (a max-plus model of the same messages and collective operations).
// is_instant: these take no time beyond waiting. Returns when each rank would end, in ns after the
// begin of the first rank. With the factor 1 that is what was measured: whatever a call takes after
// all that it needs is there, it takes again.
std::vector<double> replay(const Event* events, const State* states, const Timeline& timeline,
                           const double* factor, bool is_instant);

}  // namespace perfield::waits
