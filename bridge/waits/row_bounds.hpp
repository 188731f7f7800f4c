// SPDX-License-Identifier: BSD-3-Clause
//
// row_bounds.hpp - how long ranks waited at least, as rows show it: sums of several messages or
// collective operations, whose stamps are means.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "waits/classification.hpp"
#include "waits/clocks.hpp"
#include "waits/events.hpp"
#include "waits/joining.hpp"
#include "waits/late_members.hpp"
#include "waits/memory.hpp"

namespace perfield::waits {

// Finds the bounds of rows. A row of messages that one call completed is classified instead, as an
// event of that call. Throws std::bad_alloc alone.
class RowBounds {
 public:
  // classifications: of each event. What is passed must outlive this.
  RowBounds(const Event* events, size_t n_events, const Clocks& clocks,
            Classification* classifications, LateMembers& members, Arena& arena)
      : events_(events),
        n_events_(n_events),
        clocks_(clocks),
        classifications_(classifications),
        members_(members),
        arena_(arena) {}

  // Takes an event for which is_mean.
  void take(Index row) { means_.push_back(row); }

  // Once, after all are taken and single collective operations are classified.
  void find() {
    bound_pairs();
    bound_collectives();
  }
  std::vector<RowBound>& found() { return rows_; }

  // Whether a call of this rank's step may be in its rows, too.
  bool may_hold_call_of(const StepOfRank& step, Sharing sharing) const {
    const std::vector<StepOfRank>& steps = has_rows_[sharing];
    return std::binary_search(steps.begin(), steps.end(), step);
  }

 private:
  void bound_pairs();
  bool count_the_same(const std::vector<Index>& sends, const std::vector<Index>& receives) const;
  void bound_pair(const std::vector<Index>& sends, const std::vector<Index>& receives);
  void bound_probes(const std::vector<Index>& probes, const std::vector<Index>& sends);
  std::vector<Index> of_same_messages(const Event& row, const std::vector<Index>& others) const;
  void classify_row_of_call(Index index, const std::vector<Index>& late, StateKind kind);
  double most_in_call_of(const std::vector<Index>& rows) const;
  double sum_of_lateness(const std::vector<Index>& waiting, const std::vector<Index>& late) const;
  void bound_collectives();
  void bound_group(const Index* group, size_t n);
  void add_row(Index index, const Classification* classified, Gap gap, double bound);

  const Event* events_;
  const size_t n_events_;
  const Clocks& clocks_;
  Classification* classifications_;  // of each event
  LateMembers& members_;
  Arena& arena_;
  ArenaVector<Index> means_{arena_};
  std::vector<StepOfRank> has_rows_[kSharings];  // sorted: steps with rows that may share calls
  std::vector<RowBound> rows_;
};

}  // namespace perfield::waits
