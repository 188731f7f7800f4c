// SPDX-License-Identifier: BSD-3-Clause
//
// late_members.hpp - for which member of a collective operation the others waited. The terms are
// those of Scalasca's pattern documentation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "waits/clocks.hpp"
#include "waits/events.hpp"
#include "waits/groups.hpp"
#include "waits/judgements.hpp"
#include "waits/memory.hpp"

namespace perfield::waits {

// Writes the judgements of collective operations. Throws std::bad_alloc alone.
class LateMembers {
 public:
  // judgements: of each event. What is passed must outlive this.
  LateMembers(const Event* events, const Clocks& clocks, Judgement* judgements, Arena& arena)
      : events_(events), clocks_(clocks), judgements_(judgements), arena_(arena) {}

  // Takes a collective operation of one rank, or a row of several.
  void take(Index collective) { collectives_.push_back(collective); }

  // Judges all operations that single events show.
  void judge_operations();

  // Judges the members of one operation, or of the same operations, by rank. All must have been
  // taken, and judge_operations called.
  void judge_group(const Index* group, size_t n);

  // Calls judge(members, n) for each operation or row of operations, whose members it sorts by
  // rank.
  template <typename Judge>
  void for_each_by_rank(const Groups& operations, Judge judge) const {
    const auto by_rank = [this](Index a, Index b) {
      return std::tie(events_[a].rank, a) < std::tie(events_[b].rank, b);
    };
    operations.for_each([&](Index* members, size_t n) {
      if (!std::is_sorted(members, members + n, by_rank)) std::sort(members, members + n, by_rank);
      judge(members, n);
    });
  }

 private:
  size_t ranks_seen(uint32_t communicator) const;
  void all_unknown(const Index* group, size_t n, Gap gap);
  void judge_all_to_all(const Index* group, size_t n, StateKind kind, bool is_complete);
  const Index* last_of(const Index* group, size_t n, size_t except) const;
  bool is_last_for_sure(const Index* group, size_t n, Index last, size_t except) const;
  void judge_member(Index member, Index late, StateKind kind, Exactness known, bool is_cause_sure);

  const Event* events_;
  const Clocks& clocks_;
  Judgement* judgements_;  // of each event
  Arena& arena_;
  ArenaVector<Index> collectives_{arena_};
  std::vector<std::pair<uint32_t, int32_t>> unsized_members_;  // sorted
};

}  // namespace perfield::waits
