// SPDX-License-Identifier: BSD-3-Clause
//
// wait_states.hpp - finds for whom ranks waited: matches both ends of messages and all members of
// collective operations. Takes O(n log n) time for n events, O(n) for those in the order of
// streams, and 100 to 250 bytes for each, at most some 450.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "waits/events.hpp"

namespace perfield::waits {

// Why blocked time is not explained.
enum Gap : uint8_t {
  kNoPartner,   // the other end is not known: it has no events, or the message no number
  kClash,       // events contradict each other: two claim one place, or a wait ended too early
  kIncomplete,  // not all members of the collective are known
  kUnpaired,    // rows whose two ends do not count the same messages
  kEitherWay,   // only a rendezvous would have waited, and nothing shows whether it was one
  kOtherCall,   // no rule says for whom the call waits
  kGaps
};

// How much of the time for which a rank was blocked in MPI is explained, in one step. All in ns.
// blocked_ns is the sum of exact_ns, bounded_ns, uncertain_ns and gap_ns.
struct Covered {
  int64_t step;
  int32_t rank;
  uint32_t pad;
  double blocked_ns;    // in calls whose events are known
  double exact_ns;      // in calls whose waiting is known, 0 included
  double bounded_ns;    // in calls whose waiting is known to be at least so long
  double uncertain_ns;  // might be waiting, but is no longer than the clocks are uncertain
  double gap_ns[kGaps];
};

struct WaitStates {
  std::vector<State> states;     // by step, rank and event
  std::vector<Covered> covered;  // by step and rank
};

// The clock of each rank: how uncertain it is against the others, in ns, and which ranks share one.
struct Clocks {
  size_t n_ranks;
  const double* uncertainty_ns;  // n_ranks; not finite: not known, so nothing certain is said
  const int64_t* clock;          // n_ranks: equal where ranks share a clock; nullptr: none do
};

// Leaves out events of ranks that clocks does not hold. Throws std::bad_alloc alone.
WaitStates find_wait_states(const Event* events, size_t n_events, const Clocks& clocks);

}  // namespace perfield::waits
