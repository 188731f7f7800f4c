// SPDX-License-Identifier: BSD-3-Clause
//
// wait_states.hpp - finds for whom ranks waited: matches both ends of messages and all members of
// collective operations. Takes O(n log n) time for n events and some 100 bytes for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "waits/events.hpp"

namespace perfield::waits {

// Why blocked time is not explained.
enum Gap : uint8_t {
  kNoPartner,   // the other end is not known: no events of it, or no number
  kClash,       // two events claim one place, or a receive ended before its send began
  kIncomplete,  // not all members of the collective are known
  kUnpaired,    // rows whose two ends count different messages
  kOtherCall,   // perfield knows no rule for the call
  kGaps
};

// How much of the time for which a rank was blocked in MPI is explained, in one step. All in ns.
// What blocked_ns exceeds exact_ns + bounded_ns + uncertain_ns by is unexplained, by Gap.
struct Covered {
  int64_t step;
  int32_t rank;
  uint32_t pad;
  double blocked_ns;    // in calls whose events are known
  double exact_ns;      // of these, in calls whose waiting is known, 0 included
  double bounded_ns;    // whose waiting is known to be at least so long
  double uncertain_ns;  // whose waiting is no longer than the clocks are uncertain
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

// Never throws but std::bad_alloc. Events of ranks that clocks does not hold are left out.
WaitStates find_wait_states(const Event* events, size_t n_events, const Clocks& clocks);

}  // namespace perfield::waits
