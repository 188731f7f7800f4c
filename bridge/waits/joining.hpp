// SPDX-License-Identifier: BSD-3-Clause
//
// joining.hpp - joins the waiting that single calls show with that of rows of several messages, for
// the same rank and step, so that no time counts twice.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "waits/events.hpp"
#include "waits/sharing.hpp"
#include "waits/wait_states.hpp"

namespace perfield::waits {

using StepOfRank = std::pair<int64_t, int32_t>;

// A wait state that the events of one call show.
struct FoundState {
  State state;
  bool may_overlap;  // rows of the same step may hold the same call
  Sharing sharing;
};

// What is covered by single calls.
struct Cover {
  Covered covered;
  double shareable_ns[kSharings];  // of blocked_ns, in calls that rows may hold, too
};

// How long all messages or operations of a row blocked and, at least, waited.
struct RowBound {
  State state;             // time_ns is 0 where it shows no waiting
  bool state_may_overlap;  // with rows of the same pair
  double blocked_ns;
  bool may_overlap;
  Sharing sharing;
  bool is_paired;
  Gap gap;
};

// Each list in any order, with any number of elements of one rank's step. In each of these, states
// add up to at most what is covered. Sorts the lists. Throws std::bad_alloc alone.
WaitStates join(std::vector<FoundState>& found, std::vector<RowBound>& rows,
                std::vector<Cover>& covers);

}  // namespace perfield::waits
