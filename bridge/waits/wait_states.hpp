// SPDX-License-Identifier: BSD-3-Clause
//
// wait_states.hpp - finds for whom ranks waited: matches both ends of messages, all members of
// collective operations, and the partners of one-sided transfers (one_sided.hpp). Takes O(n log n)
// time for n events, O(n) for those in the order of streams, and 100 to 250 bytes for each, at most
// some 450.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "waits/clocks.hpp"
#include "waits/events.hpp"

namespace perfield::waits {

// Share of the time in MPI that must be explained before a rank is named as the cause of waiting,
// or the critical path is followed; below, another rank may be the cause.
inline constexpr double kEnoughExplained = 0.5;

// How much of the time for which a rank was blocked in MPI is explained, in one step. All in ns.
// blocked_ns is the sum of exact_ns, bounded_ns, uncertain_ns and gap_ns.
struct Covered {
  int64_t step;
  int32_t rank;
  uint32_t pad;
  double blocked_ns;    // in calls whose events are known
  double exact_ns;      // in calls whose waiting is known, 0 included
  double bounded_ns;    // waiting that is known as a lower bound; the rest of the call is a gap
  double uncertain_ns;  // might be waiting, but is no longer than the clocks are uncertain
  double gap_ns[kGaps];
};

struct WaitStates {
  std::vector<State> states;     // by step, rank and event
  std::vector<Covered> covered;  // by step and rank
};

// Leaves out events of ranks that clocks does not hold. Throws std::bad_alloc alone.
WaitStates find_wait_states(const Event* events, size_t n_events, const Clocks& clocks);

}  // namespace perfield::waits
