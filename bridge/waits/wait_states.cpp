// SPDX-License-Identifier: BSD-3-Clause
//
// wait_states.cpp - see wait_states.hpp. The terms are those of Scalasca's pattern documentation.
//
// First each event is classified alone: how late was the other end? Then the events of one call
// (Waitall, Sendrecv) are classified together, since a rank waits for the latest of them only. Rows
// of several messages give bounds (row_bounds.hpp), and joining.hpp puts the two together.
#include "waits/wait_states.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <tuple>
#include <vector>

#include "format/calls.h"
#include "waits/classification.hpp"
#include "waits/joining.hpp"
#include "waits/late_members.hpp"
#include "waits/memory.hpp"
#include "waits/messages.hpp"
#include "waits/one_sided.hpp"
#include "waits/row_bounds.hpp"
#include "waits/sharing.hpp"
#include "waits/sorting.hpp"

namespace perfield::waits {
namespace {

// No eager MPI_Send takes so long (ns) but where its buffer is full.
constexpr double kLongerThanCopies = 100000;

bool is_test(uint16_t call) { return call >= PERFIELD_CALL_test && call <= PERFIELD_CALL_testsome; }

// Whether MPI chooses between eager and rendezvous by the size.
bool is_standard(uint16_t call) {
  return call == PERFIELD_CALL_send || call == PERFIELD_CALL_isend ||
         call == PERFIELD_CALL_sendrecv || call == PERFIELD_CALL_sendrecv_replace;
}

// Events that follow one another and that one call blocked for.
struct EventRange {
  int64_t begin, end;
  int32_t rank;
  Index first, n;
  bool is_of(const EventRange& other) const {
    return rank == other.rank && begin == other.begin && end == other.end;
  }
  bool operator<(const EventRange& other) const {
    return std::tie(rank, begin, end, first) <
           std::tie(other.rank, other.begin, other.end, other.first);
  }
};

class WaitStateAnalyzer {
 public:
  WaitStateAnalyzer(const Event* events, size_t n_events, const Clocks& clocks)
      : events_(events), clocks_(clocks), classifications_(n_events, arena_) {
    for (size_t i = 0; i < n_events; ++i)
      if (is_usable(events[i], clocks)) take(Index(i));
  }

  WaitStates analyze() {
    classify_probes();
    classify_by_size();
    classify_windows();
    members_.classify_operations();
    bounds_.find();
    classify_calls();
    return join(found_, bounds_.found(), covers_);
  }

 private:
  bool is_rank(int32_t rank) const { return clocks_.has(rank); }
  double uncertainty_between(int32_t a, int32_t b) const {
    return clocks_.uncertainty_between(a, b);
  }

  // Events are read from the first to the last once; later, only those of a kind are.
  void take(Index index) {
    const Event& e = events_[index];
    if (e.kind == kCollective) members_.take(index);
    if (is_row_of_call(e)) take_call({e.wait_begin, e.wait_end, e.rank, index, 1});
    if (is_mean(e)) return bounds_.take(index);
    if (has_wait(e)) take_call({e.wait_begin, e.wait_end, e.rank, index, 1});
    if (is_message_end(e)) take_message(index);
    if (is_of_window(e)) of_windows_.push_back(index);
    if (is_of_probe(e)) probes_.push_back(index);
  }

  // ---- messages ----
  struct Ends {
    Index first = kUnmatched, second = kUnmatched;  // in the order in which they come
  };
  struct StandardSend {
    uint64_t bytes;
    Index event;
    bool is_blocking;  // MPI_Send
    bool is_within;    // one clock
  };

  // One end of a message, which is classified with the other end if that has come.
  void take_message(Index index) {
    const Event& e = events_[index];
    classify_message(index, kUnmatched);
    if (!is_message(e, clocks_)) return;
    if (e.kind == kSend && is_standard(e.call))
      standard_sends_.push_back({e.bytes, index, e.call == PERFIELD_CALL_send,
                                 clocks_.clock && clocks_.clock[e.rank] == clocks_.clock[e.peer]});
    if (e.channel == 0 || e.number == 0) return;
    Ends& ends = messages_.of(e);
    if (ends.first == kUnmatched) {
      ends.first = index;
      return;
    }
    if (ends.second == kUnmatched && events_[ends.first].kind != e.kind) {
      ends.second = index;
      classify_message(index, ends.first);
      classify_message(ends.first, ends.second);
      return;
    }
    if (ends.second < kClashing) classify_message(ends.second, kClashing);
    ends.second = kClashing;
    classify_message(index, kClashing);
    classify_message(ends.first, kClashing);
  }

  // partner: the event at the other end, kUnmatched or kClashing.
  void classify_message(Index index, Index partner) {
    const Event& e = events_[index];
    Classification& classified = classifications_[index];
    if (e.kind == kSend && is_transfer_of_window(e.call)) return classified.is_unknown(kOtherCall);
    if (e.peer == e.rank || (e.kind == kSend && is_buffered(e.call)) || is_test(e.call))
      return classified.waits_for_nobody();
    if (partner >= kClashing)
      return classified.is_unknown(partner == kClashing ? kClash : kNoPartner);
    const Event& other = events_[partner];
    if (other.begun == kUnknown) return classified.is_unknown(kNoPartner);
    if (!has_wait(e)) return;
    const double until_begun = double(difference(other.begun, e.wait_begin));
    const double until_end = double(difference(e.wait_end, e.wait_begin));
    classified.uncertainty = uncertainty_between(e.rank, e.peer);
    classified.lateness = std::min(until_begun, until_end);
    classified.cause = e.peer;
    classified.cause_event = partner;
    classified.is_cause_sure = true;
    classified.known = kExact;
    const bool ended_before = until_end < until_begun - classified.uncertainty;
    if (e.kind != kSend) {
      if (ended_before) return classified.is_unknown(kClash);  // it cannot arrive before it is sent
      classified.kind = kLateSender;
      classified.waits = Classification::kYes;
    } else {
      if (ended_before && is_synchronous(e.call)) return classified.is_unknown(kClash);
      if (ended_before) {
        classified.waits_for_nobody();
        classified.was_eager = true;
        return;
      }
      classified.kind = kLateReceiver;
      classified.waits =
          is_synchronous(e.call) ? Classification::kYes : Classification::kIfRendezvous;
    }
  }

  // A probe waits for the message that it has found. Its receive is another event.
  void classify_probes() {
    for (const Index i : probes_) {
      const Event& e = events_[i];
      classify_message(i, kUnmatched);
      if (!is_rank(e.peer) || e.channel == 0 || e.number == 0) continue;
      const Ends& ends = messages_.of(e);
      if (ends.second == kClashing) {
        classify_message(i, kClashing);
        continue;
      }
      for (const Index end : {ends.first, ends.second})
        if (end < kClashing && events_[end].kind == kSend) classify_message(i, end);
    }
  }

  // Two ends do not always show whether a message was eager, but others of its size may. Nothing
  // is concluded where sizes contradict each other: a full buffer holds back small messages, too.
  void classify_by_size() {
    struct Limits {
      uint64_t largest_eager = 0;
      uint64_t smallest_rendezvous = std::numeric_limits<uint64_t>::max();
      bool has_eager = false;
    } of_way[2];  // between clocks, and within one: other transports have other limits
    for (const StandardSend& send : standard_sends_) {
      const Classification& classified = classifications_[send.event];
      Limits& limits = of_way[send.is_within];
      if (classified.was_eager) {
        limits.largest_eager = std::max(limits.largest_eager, send.bytes);
        limits.has_eager = true;
      } else if (send.is_blocking && classified.waits != Classification::kNone &&
                 classified.lateness > std::max(kLongerThanCopies, classified.uncertainty)) {
        limits.smallest_rendezvous = std::min(limits.smallest_rendezvous, send.bytes);
      }
    }
    for (const StandardSend& send : standard_sends_) {
      const Limits& limits = of_way[send.is_within];
      if (limits.has_eager && limits.largest_eager >= limits.smallest_rendezvous) continue;
      Classification& classified = classifications_[send.event];
      const bool is_alone = classified.known == 0 && classified.gap == kNoPartner;
      if (limits.has_eager && send.bytes <= limits.largest_eager &&
          (is_alone || classified.waits == Classification::kIfRendezvous))
        classified.waits_for_nobody();
      else if (send.bytes >= limits.smallest_rendezvous &&
               classified.waits == Classification::kIfRendezvous)
        classified.waits = Classification::kYes;
    }
  }

  // ---- one-sided transfers ----
  void classify_windows() {
    for (const InWindow& found :
         waits_in_windows(events_, of_windows_.data(), of_windows_.size(), clocks_))
      classify_window(found);
  }

  void classify_window(const InWindow& found) {
    const Event& e = events_[found.event];
    Classification& classified = classifications_[found.event];
    if (found.answer == InWindow::kNobody) return classified.waits_for_nobody();
    if (found.answer == InWindow::kNoAnswer) return classified.is_unknown(found.gap);
    const Event& other = events_[found.late];
    if (other.begun == kUnknown || !has_wait(e)) return classified.is_unknown(kNoPartner);
    const double until_begun = double(difference(other.begun, e.wait_begin));
    const double until_end = double(difference(e.wait_end, e.wait_begin));
    const double uncertainty = uncertainty_between(e.rank, other.rank);
    if (until_end < until_begun - uncertainty)
      return found.answer == InWindow::kLateOrLeft ? classified.waits_for_nobody()
                                                   : classified.is_unknown(kClash);
    classified = Classification();
    classified.uncertainty = uncertainty;
    classified.lateness = std::min(until_begun, until_end);
    classified.cause = other.rank;
    classified.cause_event = Index(found.late);
    classified.kind = kLateOneSided;
    classified.waits = Classification::kYes;
    classified.gap = found.gap;
    classified.known = found.is_bound ? kBound : kExact;
    classified.is_cause_sure = found.is_sure;
  }

  // ---- calls: the events of each call together ----
  void take_call(const EventRange& range) {
    if (!ranges_.empty() && ranges_.back().is_of(range) &&
        ranges_.back().first + ranges_.back().n == range.first)
      ++ranges_.back().n;
    else
      ranges_.push_back(range);
  }

  void classify_calls() {
    sort_by_ranks(ranges_, clocks_.n_ranks, arena_);
    std::vector<Index> call;
    for (size_t first = 0, last; first < ranges_.size(); first = last) {
      call.clear();
      for (last = first; last < ranges_.size() && ranges_[last].is_of(ranges_[first]); ++last)
        for (Index i = 0; i < ranges_[last].n; ++i) call.push_back(ranges_[last].first + i);
      classify_call(call.data(), call.size());
    }
  }

  // The send, or else the other event, whose other end was latest or earliest; nullptr: none.
  const Index* latest(const Index* call, size_t n, Classification::Waits waits, bool is_send,
                      bool earliest) const {
    const Index* found = nullptr;
    for (size_t k = 0; k < n; ++k) {
      const Classification& classified = classifications_[call[k]];
      if (classified.waits != waits || (events_[call[k]].kind == kSend) != is_send) continue;
      const double gain = found ? classified.lateness - classifications_[*found].lateness : 1;
      const bool is_lower = found && classified.cause < classifications_[*found].cause;
      if (!found || (earliest ? gain < 0 : gain > 0) || (gain == 0 && is_lower)) found = &call[k];
    }
    return found;
  }

  // Whether no other cause may have come later than the latest one, or before the earliest.
  bool is_top_for_sure(const Index* call, size_t n, const Classification& top,
                       bool earliest) const {
    for (size_t k = 0; k < n; ++k) {
      const Classification& classified = classifications_[call[k]];
      if (classified.waits != Classification::kYes || classified.cause == top.cause) continue;
      const double lead = (earliest ? -1 : 1) * (top.lateness - classified.lateness);
      if (lead < uncertainty_between(top.cause, classified.cause)) return false;
    }
    return true;
  }

  void classify_call(const Index* call, size_t n) {
    const Event& any = events_[call[0]];
    const int32_t rank = any.rank;
    const double blocked = double(difference(any.wait_end, any.wait_begin));
    const Sharing sharing = sharing_of(any);
    int64_t step = any.step;
    bool has_test = false, has_waitsome = false, only_sends = true, may_overlap = false;
    uint8_t known = kExact, gap = kNoPartner;
    bool any_waits[2] = {};             // for sure: others, and sends
    double possible = 0;                // the longest wait that the clocks allow
    double possible_if_rendezvous = 0;  // and of sends
    for (size_t k = 0; k < n; ++k) {
      const Event& e = events_[call[k]];
      const Classification& classified = classifications_[call[k]];
      step = std::max(step, e.step);
      has_test = has_test || is_test(e.call);
      has_waitsome = has_waitsome || e.call == PERFIELD_CALL_waitsome;
      only_sends = only_sends && e.kind == kSend;
      may_overlap = may_overlap || may_share_its_call(e);
      if (classified.known < known) gap = classified.gap;
      known = std::min(known, classified.known);
      double& longest =
          classified.waits == Classification::kIfRendezvous ? possible_if_rendezvous : possible;
      longest = std::max(longest, classified.lateness + classified.uncertainty);
      if (classified.waits == Classification::kYes) any_waits[e.kind == kSend] = true;
      if (e.flags & kOverflow) known = std::min(known, uint8_t(kBound));
    }
    Cover& cover = cover_of(step, rank);
    cover.covered.blocked_ns += blocked;
    if (may_overlap) cover.shareable_ns[sharing] += blocked;
    if (has_test) {  // test calls never block
      cover.covered.exact_ns += blocked;
      return;
    }
    // Rows may hold later partners of this call.
    const bool is_bound_by_rows =
        may_overlap && known == kExact && bounds_.may_hold_call_of({step, rank}, sharing);
    if (is_bound_by_rows) known = kBound;
    // MPI_Waitsome returns with the first message; that of an unknown partner may have been it.
    if (has_waitsome && known != kExact) {
      cover.covered.gap_ns[gap] += blocked;
      return;
    }
    const Index* top =
        any_waits[false] ? latest(call, n, Classification::kYes, false, has_waitsome) : nullptr;
    double doubt = 0;       // waiting beyond top's
    int32_t doubtful = -1;  // and for whom
    // A late partner sends and posts its receives at nearly the same time: it is a late sender.
    // Only a send that waited clearly longer, or for another rank, makes it a late receiver.
    for (const Classification::Waits waits :
         {Classification::kYes, Classification::kIfRendezvous}) {
      const bool any = waits == Classification::kYes ? any_waits[true] : possible_if_rendezvous > 0;
      if (!any || (has_waitsome && top)) continue;
      const Index* send = latest(call, n, waits, true, false);
      const double shown = top ? std::max(classifications_[*top].lateness, 0.0) : 0;
      const double lateness = classifications_[*send].lateness;
      if (lateness <= shown) continue;
      // Without other evidence, a call that only sends lasts so long for its receivers. Where it
      // receives, too, the receiver must explain more time than is left for a transfer.
      // Where others may be in the call, too, it shows nothing.
      const bool is_shown =
          waits == Classification::kYes || ((known == kExact || !may_overlap) &&
                                            (only_sends || lateness - shown >= blocked - lateness));
      const bool is_other = waits == Classification::kYes && top &&
                            classifications_[*send].cause != classifications_[*top].cause;
      if (is_shown && (is_other || lateness - shown > kClearly * lateness))
        top = send;
      else if (lateness - shown > doubt) {
        doubt = lateness - shown;
        doubtful = classifications_[*send].cause;
      }
    }
    const double waited = top ? std::max(classifications_[*top].lateness, 0.0) : 0;
    const double uncertainty = top ? classifications_[*top].uncertainty : 0;
    const Protocol protocol =
        top && classifications_[*top].kind == kLateReceiver ? kRendezvous : kProtocolUnknown;
    if (waited > uncertainty) {
      const Classification& classified = classifications_[*top];
      if (doubt > std::max(kClearly * waited, uncertainty))
        known = std::min(known, uint8_t(kBound));
      const uint8_t exactness = known == kExact ? kExact : kBound;
      const double spread = is_mean(events_[*top]) ? blocked - waited : 0;
      if (exactness == kExact) {
        cover.covered.exact_ns += blocked;
      } else {
        if (classified.known == kExact && known == kBound && doubt > 0 && !is_bound_by_rows)
          gap = kEitherWay;
        cover.covered.bounded_ns += waited;
        cover.covered.gap_ns[is_bound_by_rows ? kOnlySums : Gap(gap)] += blocked - waited;
      }
      const bool is_sure = classified.is_cause_sure &&
                           (exactness == kBound || doubt == 0 || doubtful == classified.cause) &&
                           is_top_for_sure(call, n, classified, has_waitsome);
      add_state({step, rank, is_sure ? classified.cause : -1, classified.kind, exactness,
                 events_[*top].call, protocol, *top, classified.cause_event, waited,
                 uncertainty + (exactness == kExact ? doubt + spread : 0)},
                may_overlap, sharing);
      return;
    }
    if (waited > 0)
      add_state({step, rank, -1, classifications_[*top].kind, kUncertain, events_[*top].call,
                 protocol, *top, -1, waited, uncertainty},
                may_overlap, sharing);
    if (known != kExact) {
      cover.covered.gap_ns[is_bound_by_rows ? kOnlySums : Gap(gap)] += blocked;
      return;
    }
    if (doubt == 0) possible = std::max(possible, possible_if_rendezvous);
    const double unsure = std::min(blocked, possible);
    const double either = std::min(doubt, blocked - unsure);
    cover.covered.uncertain_ns += unsure;
    cover.covered.gap_ns[kEitherWay] += either;
    cover.covered.exact_ns += blocked - unsure - either;
  }

  void add_state(const State& state, bool may_overlap, Sharing sharing) {
    found_.push_back({state, may_overlap, sharing});
  }

  // Calls come by rank and time, so those of one step come together but for a few.
  Cover& cover_of(int64_t step, int32_t rank) {
    if (covers_.empty() || covers_.back().covered.step != step ||
        covers_.back().covered.rank != rank) {
      covers_.push_back({});
      covers_.back().covered.step = step;
      covers_.back().covered.rank = rank;
    }
    return covers_.back();
  }

  const Event* events_;
  Clocks clocks_;
  Arena arena_;
  ArenaVector<Classification> classifications_;  // of each event
  ArenaVector<EventRange> ranges_{arena_};
  MessageTable<Ends> messages_{arena_};
  LateMembers members_{events_, clocks_, classifications_.data(), arena_};
  RowBounds bounds_{events_, classifications_.size(), clocks_, classifications_.data(), members_,
                    arena_};
  ArenaVector<Index> of_windows_{arena_}, probes_{arena_};
  ArenaVector<StandardSend> standard_sends_{arena_};
  std::vector<FoundState> found_;
  std::vector<Cover> covers_;
};

}  // namespace

WaitStates find_wait_states(const Event* events, size_t n_events, const Clocks& clocks) {
  if (n_events >= kClashing) throw std::bad_alloc();  // 309 GB
  return WaitStateAnalyzer(events, n_events, clocks).analyze();
}

}  // namespace perfield::waits
