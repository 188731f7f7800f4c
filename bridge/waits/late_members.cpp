// SPDX-License-Identifier: BSD-3-Clause
//
// late_members.cpp - see late_members.hpp.
#include "waits/late_members.hpp"

#include "waits/collectives.hpp"

namespace perfield::waits {

void LateMembers::classify_operations() {
  Groups operations(arena_);
  std::vector<std::pair<uint32_t, int32_t>> unsized;
  for (const Index i : collectives_) {
    const Event& e = events_[i];
    if (e.channel == 0) continue;
    if (e.size == 0) unsized.push_back({e.channel, e.rank});
    if (!is_mean(e) && e.number != 0) operations.add({e.channel, e.number}, i);
  }
  std::sort(unsized.begin(), unsized.end());
  unsized.erase(std::unique(unsized.begin(), unsized.end()), unsized.end());
  unsized_members_ = std::move(unsized);
  for_each_by_rank(operations, [this](const Index* group, size_t n) { classify_group(group, n); });
}

// How many ranks are members of a communicator whose size is not known, as far as events show.
size_t LateMembers::ranks_seen(uint32_t communicator) const {
  const auto range = std::equal_range(
      unsized_members_.begin(), unsized_members_.end(), std::make_pair(communicator, 0),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  return size_t(range.second - range.first);
}

void LateMembers::all_unknown(const Index* group, size_t n, Gap gap) {
  for (size_t k = 0; k < n; ++k) classifications_[group[k]].is_unknown(gap);
}

void LateMembers::classify_group(const Index* group, size_t n) {
  const Event& any = events_[group[0]];
  const Collective collective = collective_of(any.call);
  if (collective.pattern == Pattern::kNone) return all_unknown(group, n, kOtherCall);
  size_t n_begun = 0, n_roots = 0, root = 0;
  for (size_t k = 0; k < n; ++k) {
    const Event& e = events_[group[k]];
    if (e.call != any.call || e.size != any.size || e.count != any.count ||
        (k > 0 && e.rank == events_[group[k - 1]].rank))
      return all_unknown(group, n, kClash);
    n_begun += e.begun != kUnknown;
    if (e.flags & kRoot) {
      ++n_roots;
      root = k;
    }
  }
  if (any.size != 0 && n > any.size) return all_unknown(group, n, kClash);
  const size_t expected = any.size != 0 ? any.size : ranks_seen(any.channel);
  const bool is_complete = n_begun == expected;
  if (collective.pattern == Pattern::kAllToAll)
    return classify_all_to_all(group, n, collective.kind, is_complete);
  if (n_roots > 1) return all_unknown(group, n, kClash);
  // The root of several operations is one rank only if no other rank was root of some of them.
  if (n_roots == 0 || (is_mean(any) && !(is_complete && any.size != 0)))
    return all_unknown(group, n, kIncomplete);
  for (size_t k = 0; k < n; ++k) classifications_[group[k]].waits_for_nobody();
  if (collective.pattern == Pattern::kOneToAll) {
    for (size_t k = 0; k < n; ++k)
      if (k != root) classify_member(group[k], group[root], collective.kind, kExact, true);
    return;
  }
  const Index* last = last_of(group, n, root);
  if (!last) return classifications_[group[root]].is_unknown(kIncomplete);
  classify_member(group[root], *last, collective.kind,
                  is_complete && any.size != 0 ? kExact : kBound,
                  is_complete && is_last_for_sure(group, n, *last, root));
}

void LateMembers::classify_all_to_all(const Index* group, size_t n, StateKind kind,
                                      bool is_complete) {
  const Index* last = last_of(group, n, n);
  if (!last) return all_unknown(group, n, kIncomplete);
  const bool is_sure = is_complete && is_last_for_sure(group, n, *last, n);
  const Exactness known = is_complete && events_[group[0]].size != 0 ? kExact : kBound;
  bool is_possible = true;
  for (size_t k = 0; k < n; ++k) {
    Classification& classified = classifications_[group[k]];
    if (group[k] != *last)
      classify_member(group[k], *last, kind, known, is_sure);
    else if (known == kExact)
      classified.waits_for_nobody();
    else
      classified.is_unknown(kIncomplete);
    is_possible = is_possible && !(classified.known == 0 && classified.gap == kClash);
  }
  // Nobody leaves a barrier before all have come; ranks leave other operations if they need
  // nothing of the last.
  if (!is_possible && kind == kBarrier) all_unknown(group, n, kClash);
}

// The member that began last, of all but one; the first of equals.
const Index* LateMembers::last_of(const Index* group, size_t n, size_t except) const {
  const Index* last = nullptr;
  for (size_t k = 0; k < n; ++k) {
    const int64_t begun = events_[group[k]].begun;
    if (k != except && begun != kUnknown && (!last || begun > events_[*last].begun))
      last = &group[k];
  }
  return last;
}

bool LateMembers::is_last_for_sure(const Index* group, size_t n, Index last, size_t except) const {
  const Event& latest = events_[last];
  for (size_t k = 0; k < n; ++k) {
    const Event& e = events_[group[k]];
    if (k == except || group[k] == last || e.begun == kUnknown) continue;
    if (double(difference(latest.begun, e.begun)) <
        clocks_.uncertainty_between(latest.rank, e.rank))
      return false;
  }
  return true;
}

void LateMembers::classify_member(Index member, Index late, StateKind kind, Exactness known,
                                  bool is_cause_sure) {
  const Event& e = events_[member];
  const Event& other = events_[late];
  Classification& classified = classifications_[member];
  if (other.begun == kUnknown) return classified.is_unknown(kIncomplete);
  if (!has_wait(e)) return classified.is_unknown(kNoPartner);
  const double until_begun = double(difference(other.begun, e.wait_begin));
  const double until_end = double(difference(e.wait_end, e.wait_begin));
  classified = Classification();
  classified.uncertainty = clocks_.uncertainty_between(e.rank, other.rank);
  if (until_end < until_begun - classified.uncertainty) return classified.is_unknown(kClash);
  classified.lateness = std::min(until_begun, until_end);
  classified.cause = other.rank;
  classified.cause_event = late;
  classified.kind = kind;
  classified.waits = Classification::kYes;
  classified.gap = kIncomplete;
  classified.known = known;
  classified.is_cause_sure = is_cause_sure;
}

}  // namespace perfield::waits
