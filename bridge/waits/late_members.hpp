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

#include "waits/classification.hpp"
#include "waits/clocks.hpp"
#include "waits/events.hpp"
#include "waits/groups.hpp"
#include "waits/memory.hpp"

namespace perfield::waits {

// Classifies the events of collective operations. Throws std::bad_alloc alone.
class LateMembers {
 public:
  // classifications: of each event. What is passed must outlive this.
  LateMembers(const Event* events, const Clocks& clocks, Classification* classifications,
              Arena& arena)
      : events_(events), clocks_(clocks), classifications_(classifications), arena_(arena) {}

  // Takes a collective operation of one rank, or a row of several.
  void take(Index collective) { collectives_.push_back(collective); }

  // Classifies all operations that single events show.
  void classify_operations();

  // Classifies the members of one operation, or of the same operations, by rank. All must have been
  // taken, and classify_operations called.
  void classify_group(const Index* group, size_t n);

  // Calls classify(members, n) for each operation or row of operations, whose members it sorts by
  // rank.
  template <typename Classify>
  void for_each_by_rank(const Groups& operations, Classify classify) const {
    const auto by_rank = [this](Index a, Index b) {
      return std::tie(events_[a].rank, a) < std::tie(events_[b].rank, b);
    };
    operations.for_each([&](Index* members, size_t n) {
      if (!std::is_sorted(members, members + n, by_rank)) std::sort(members, members + n, by_rank);
      classify(members, n);
    });
  }

 private:
  size_t ranks_seen(uint32_t communicator) const;
  void all_unknown(const Index* group, size_t n, Gap gap);
  void classify_all_to_all(const Index* group, size_t n, StateKind kind, bool is_complete);
  const Index* last_of(const Index* group, size_t n, size_t except) const;
  bool is_last_for_sure(const Index* group, size_t n, Index last, size_t except) const;
  void classify_member(Index member, Index late, StateKind kind, Exactness known,
                       bool is_cause_sure);

  const Event* events_;
  const Clocks& clocks_;
  Classification* classifications_;  // of each event
  Arena& arena_;
  ArenaVector<Index> collectives_{arena_};
  std::vector<std::pair<uint32_t, int32_t>> unsized_members_;  // sorted
};

}  // namespace perfield::waits
