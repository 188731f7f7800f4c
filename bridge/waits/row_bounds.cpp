// SPDX-License-Identifier: BSD-3-Clause
//
// row_bounds.cpp - see row_bounds.hpp. A bound of a sum: sum of max(0, x) >= max(0, sum of x).
#include "waits/row_bounds.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "waits/groups.hpp"
#include "waits/messages.hpp"

namespace perfield::waits {
namespace {

// Rows of one pair of ranks and step that are compared; there is one per kind of call.
constexpr size_t kMostRowsOfPair = 64;

bool is_row(const Event& event) { return event.flags & (kSingle | kMean); }

bool is_alone_in_its_call(const Event& event) { return !may_share_its_call(event); }

// How many messages or operations of a row one call may have completed: its waiting is in so many
// differences of stamps.
uint32_t most_in_call(const Event& row) {
  if (!may_share_its_call(row)) return 1;
  return row.most_in_call ? std::min(row.most_in_call, row.count) : row.count;
}

// The time for which all messages of a row blocked, at least: that of a call counts once, and means
// are rounded.
double blocked_ns_of(const Event& row) {
  const double mean = std::max(0.0, double(difference(row.wait_end, row.wait_begin)) - 1);
  return double(row.count) * mean / double(std::max(1u, most_in_call(row)));
}

}  // namespace

void RowBounds::bound_pairs() {
  bool has_means = false;
  for (const Index i : means_) {
    const Event& e = events_[i];
    if (e.kind == kCollective) continue;
    const bool is_of_call = is_row_of_call(e);
    if (may_share_its_call(e) && !is_of_call) has_rows_[sharing_of(e)].push_back({e.step, e.rank});
    if (is_message(e, clocks_) || (is_of_probe(e) && clocks_.has(e.peer)))
      has_means = true;
    else if (is_of_call)
      classifications_[i].is_unknown(kNoPartner);
    else if (e.kind == kSynchronisation)
      add_row(i, nullptr, kUnpaired, 0);
    else
      add_row(i, nullptr, e.kind == kSend && clocks_.has(e.peer) ? kOtherCall : kNoPartner, 0);
  }
  if (!has_means) return;
  Groups pairs(arena_);  // of ranks, in each step
  for (Index i = 0; i < n_events_; ++i) {
    const Event& e = events_[i];
    if (is_usable(e, clocks_) &&
        (is_message(e, clocks_) || (is_of_probe(e) && clocks_.has(e.peer))) &&
        (is_row(e) || is_mean(e)))
      pairs.add({Way(e).word(), in_order(e.step)}, i);
  }
  std::vector<Index> sends, receives, probes;
  pairs.for_each([&](const Index* rows, size_t n) {
    if (std::none_of(rows, rows + n, [this](Index i) { return is_mean(events_[i]); })) return;
    sends.clear();
    receives.clear();
    probes.clear();
    for (size_t k = 0; k < n; ++k) {
      const uint8_t kind = events_[rows[k]].kind;
      (kind == kSend ? sends : kind == kReceive ? receives : probes).push_back(rows[k]);
    }
    if (!sends.empty() || !receives.empty()) bound_pair(sends, receives);
    if (!probes.empty()) bound_probes(probes, sends);
  });
}

// Whether the rows at both ends count the same messages: as many, and the same last one.
bool RowBounds::count_the_same(const std::vector<Index>& sends,
                               const std::vector<Index>& receives) const {
  if (sends.empty() || receives.empty() || sends.size() + receives.size() > kMostRowsOfPair)
    return false;
  uint64_t n_sent = 0, n_received = 0;
  for (const Index i : sends) n_sent += events_[i].count;
  for (const Index i : receives) n_received += events_[i].count;
  if (n_sent != n_received || n_sent == 0) return false;
  // 0: not known. Of several rows, only counts show which holds the last message.
  const auto last_number = [this](const std::vector<Index>& rows, uint32_t channel) {
    uint32_t number = 0;
    for (const Index i : rows) {
      const Event& e = events_[i];
      if (e.channel != channel || e.number == 0) continue;
      if (number != 0 && (number | e.number) & kNumberOfHistory) return uint32_t{0};
      number = std::max(number, e.number);
    }
    return number;
  };
  for (const Index i : receives) {
    const Event& e = events_[i];
    const uint32_t number = last_number(receives, e.channel);
    if (e.channel == 0 || number == 0 || number != last_number(sends, e.channel)) return false;
  }
  return true;
}

void RowBounds::bound_pair(const std::vector<Index>& sends, const std::vector<Index>& receives) {
  const bool is_paired = count_the_same(sends, receives);
  const auto all = [this](const std::vector<Index>& rows, auto condition) {
    return std::all_of(rows.begin(), rows.end(), [&](Index i) { return condition(events_[i]); });
  };
  const auto has_begun = [](const Event& e) { return e.begun != kUnknown; };
  const bool to_itself = events_[(sends.empty() ? receives : sends)[0]].peer ==
                         events_[(sends.empty() ? receives : sends)[0]].rank;
  // One bound for all rows of this end; the first of them holds it. Rows of one call are classified
  // with that call.
  const auto bound = [&](std::vector<Index> waiting, const std::vector<Index>& late, StateKind kind,
                         bool may_wait, Gap gap) {
    for (const Index row : waiting)
      if (is_row_of_call(events_[row])) {
        const std::vector<Index> same =
            is_paired && waiting.size() == 1 ? late : of_same_messages(events_[row], late);
        classify_row_of_call(row, all(same, has_begun) ? same : std::vector<Index>(), kind);
      }
    if (all(waiting, is_row_of_call)) return;
    std::stable_partition(waiting.begin(), waiting.end(),
                          [this](Index row) { return !is_row_of_call(events_[row]); });
    const bool has_bound = is_paired && may_wait && all(waiting, has_wait) && all(late, has_begun);
    Classification classified;
    if (has_bound) {
      const Event& e = events_[waiting[0]];
      classified.cause = e.peer;
      classified.cause_event = late[0];
      classified.is_cause_sure = true;
      classified.kind = kind;
      classified.lateness = sum_of_lateness(waiting, late) / most_in_call_of(waiting);
    }
    const size_t first = rows_.size();
    for (size_t k = 0; k < waiting.size(); ++k)
      if ((is_mean(events_[waiting[k]]) && !is_row_of_call(events_[waiting[k]])) || k == 0)
        add_row(waiting[k], has_bound ? &classified : nullptr, is_paired ? gap : kUnpaired,
                k == 0 && has_bound ? classified.lateness : 0);
    if (has_bound) rows_[first].state_may_overlap = !all(waiting, is_alone_in_its_call);
  };
  if (to_itself) {
    Classification none;
    for (const auto* rows : {&sends, &receives})
      for (const Index i : *rows)
        if (is_row_of_call(events_[i]))
          classifications_[i].waits_for_nobody();
        else if (is_mean(events_[i]))
          add_row(i, &none, kNoPartner, 0);
    return;
  }
  if (!receives.empty()) bound(receives, sends, kLateSender, true, kNoPartner);
  const bool synchronous = all(sends, [](const Event& e) { return is_synchronous(e.call); });
  if (!sends.empty()) bound(sends, receives, kLateReceiver, synchronous, kEitherWay);
}

// As receives, if each message was probed once; rows of one probe are classified alone.
void RowBounds::bound_probes(const std::vector<Index>& probes, const std::vector<Index>& sends) {
  const auto is_bound = [this](Index i) { return is_mean(events_[i]) && has_wait(events_[i]); };
  const auto has_begun = [this](Index i) { return events_[i].begun != kUnknown; };
  const bool is_paired = count_the_same(sends, probes) &&
                         std::all_of(probes.begin(), probes.end(), is_bound) &&
                         std::all_of(sends.begin(), sends.end(), has_begun);
  Classification classified;
  classified.cause = events_[probes[0]].peer;
  classified.cause_event = is_paired ? sends[0] : kUnmatched;
  classified.is_cause_sure = true;
  for (size_t k = 0; k < probes.size(); ++k)
    if (is_mean(events_[probes[k]]))
      add_row(probes[k], is_paired ? &classified : nullptr, kUnpaired,
              is_paired && k == 0 ? sum_of_lateness(probes, sends) : 0);
}

// The row that counts the same messages at the other end; none if that is not known.
std::vector<Index> RowBounds::of_same_messages(const Event& row,
                                               const std::vector<Index>& others) const {
  std::vector<Index> found;
  for (const Index i : others)
    if (row.channel && row.number && events_[i].channel == row.channel &&
        events_[i].number == row.number && events_[i].count == row.count)
      found.push_back(i);
  return found.size() == 1 ? found : std::vector<Index>();
}

// late: the rows of the same messages at the other end, empty if they are not known. The last of
// these began after their mean, before this call was left, and before the partner entered the
// call that completed them all; where these are near one another, the wait is known.
void RowBounds::classify_row_of_call(Index index, const std::vector<Index>& late, StateKind kind) {
  const Event& e = events_[index];
  Classification& classified = classifications_[index];
  if (e.kind == kSend && is_buffered(e.call)) return classified.waits_for_nobody();
  if (late.empty()) return classified.is_unknown(kUnpaired);
  double until_begun = 0;
  for (const Index i : late)
    until_begun += double(events_[i].count) * double(difference(events_[i].begun, e.wait_begin));
  until_begun /= double(e.count);
  double until_all_begun = std::numeric_limits<double>::infinity();
  if (late.size() == 1 && is_row_of_call(events_[late.front()]))
    until_all_begun = double(difference(events_[late.front()].wait_begin, e.wait_begin));
  const double blocked = double(difference(e.wait_end, e.wait_begin));
  const double uncertainty = clocks_.uncertainty_between(e.rank, e.peer);
  const bool is_certain = e.kind == kReceive || is_synchronous(e.call);
  if (blocked < until_begun - uncertainty)  // sends: eager
    return is_certain ? classified.is_unknown(kClash) : classified.waits_for_nobody();
  classified = Classification();
  classified.lateness = std::min(until_begun, blocked) - 1;  // means are rounded
  classified.uncertainty = uncertainty;
  classified.cause = e.peer;
  classified.cause_event = late.front();
  classified.kind = kind;
  classified.gap = kOnlySums;
  const double spread = std::max(0.0, std::min(blocked, until_all_begun + uncertainty)) -
                        std::max(0.0, classified.lateness);
  classified.known = spread <= kClearly * blocked ? kExact : kBound;
  classified.waits = is_certain ? Classification::kYes : Classification::kIfRendezvous;
  classified.is_cause_sure = true;
}

// How many messages of these rows one call may have completed, at most. Rows of one kind of call
// are of different threads or steps.
double RowBounds::most_in_call_of(const std::vector<Index>& rows) const {
  std::map<uint16_t, uint32_t> most;
  for (const Index i : rows)
    if (may_share_its_call(events_[i]))
      most[events_[i].call] = std::max(most[events_[i].call], most_in_call(events_[i]));
  uint64_t sum = 0;
  for (const auto& [call, n] : most) sum += n;
  return double(std::max<uint64_t>(1, sum));
}

// Sum over the messages: how much later they began at the late end than the call that waited.
// Less what the clocks and the rounding of means allow, so that it is never too much.
double RowBounds::sum_of_lateness(const std::vector<Index>& waiting,
                                  const std::vector<Index>& late) const {
  const Event& any = events_[waiting[0]];
  double begun = 0, entered = 0, left = 0, n = 0;
  for (const Index i : late)
    begun += double(events_[i].count) * double(difference(events_[i].begun, any.wait_begin));
  for (const Index i : waiting) {
    const Event& e = events_[i];
    entered += double(e.count) * double(difference(e.wait_begin, any.wait_begin));
    left += double(e.count) * double(difference(e.wait_end, any.wait_begin));
    n += double(e.count);
  }
  return std::min(begun, left) - entered -
         n * (1 + clocks_.uncertainty_between(any.rank, any.peer));
}

void RowBounds::bound_collectives() {
  Groups rows(arena_);
  for (const Index i : means_) {
    const Event& e = events_[i];
    if (e.kind != kCollective) continue;
    if (may_share_its_call(e)) has_rows_[kAmongMessages].push_back({e.step, e.rank});
    rows.add({uint64_t(e.channel) << 32 | e.call, in_order(e.step)}, i);
  }
  members_.for_each_by_rank(rows, [this](const Index* group, size_t n) { bound_group(group, n); });
  for (std::vector<StepOfRank>& of_sharing : has_rows_)
    std::sort(of_sharing.begin(), of_sharing.end());
}

void RowBounds::bound_group(const Index* group, size_t n) {
  const Event& any = events_[group[0]];
  bool is_same = any.channel != 0 && any.number != 0;
  for (size_t k = 0; k < n; ++k) {
    const Event& e = events_[group[k]];
    is_same = is_same && e.number == any.number && e.count == any.count;
  }
  if (is_same)
    members_.classify_group(group, n);
  else
    for (size_t k = 0; k < n; ++k) classifications_[group[k]].is_unknown(kUnpaired);
  for (size_t k = 0; k < n; ++k) {
    const Event& e = events_[group[k]];
    const Classification& classified = classifications_[group[k]];
    add_row(
        group[k], classified.known ? &classified : nullptr, Gap(classified.gap),
        classified.waits == Classification::kYes
            ? double(e.count) * (classified.lateness - classified.uncertainty - 1) / most_in_call(e)
            : 0);
  }
}

// A row of several, or one that represents them; classified: nullptr if its waiting is not known.
void RowBounds::add_row(Index index, const Classification* classified, Gap gap, double bound) {
  const Event& e = events_[index];
  if (!has_wait(e)) return;
  RowBound row{};
  row.blocked_ns = is_mean(e) ? blocked_ns_of(e) : 0;
  row.may_overlap = row.state_may_overlap = may_share_its_call(e);
  row.sharing = sharing_of(e);
  row.is_paired = classified != nullptr;
  row.gap = gap;
  row.state = {e.step, e.rank, -1, 0, kBound, e.call, kProtocolUnknown, index, -1, 0, 0};
  if (classified && bound > 0) {
    row.state.cause = classified->is_cause_sure ? classified->cause : -1;
    row.state.cause_event = classified->cause_event;
    row.state.kind = classified->kind;
    row.state.protocol = classified->kind == kLateReceiver ? kRendezvous : kProtocolUnknown;
    row.state.time_ns = bound;
  }
  rows_.push_back(row);
}

}  // namespace perfield::waits
