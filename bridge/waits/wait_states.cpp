// SPDX-License-Identifier: BSD-3-Clause
//
// wait_states.cpp - see wait_states.hpp. The terms are those of Scalasca's pattern documentation.
//
// First each event is judged alone: how late was the other end? Then the events of one call
// (Waitall, Sendrecv) are judged together, since a rank waits for the latest of them only. Rows of
// several messages give bounds (row_bounds.hpp), and joining.hpp puts the two together.
#include "waits/wait_states.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <tuple>
#include <vector>

#include "format/calls.h"
#include "waits/joining.hpp"
#include "waits/judgements.hpp"
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
struct Run {
  int64_t begin, end;
  int32_t rank;
  Index first, n;
  bool is_of(const Run& other) const {
    return rank == other.rank && begin == other.begin && end == other.end;
  }
  bool operator<(const Run& other) const {
    return std::tie(rank, begin, end, first) <
           std::tie(other.rank, other.begin, other.end, other.first);
  }
};

class Finder {
 public:
  Finder(const Event* events, size_t n_events, const Clocks& clocks)
      : events_(events), clocks_(clocks), judgements_(n_events, arena_) {
    for (size_t i = 0; i < n_events; ++i)
      if (is_usable(events[i], clocks)) take(Index(i));
  }

  WaitStates find() {
    judge_probes();
    judge_by_size();
    judge_windows();
    members_.judge_operations();
    bounds_.find();
    judge_calls();
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

  // One end of a message, which is judged with the other end if that has come.
  void take_message(Index index) {
    const Event& e = events_[index];
    judge_message(index, kUnmatched);
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
      judge_message(index, ends.first);
      judge_message(ends.first, ends.second);
      return;
    }
    if (ends.second < kClashing) judge_message(ends.second, kClashing);
    ends.second = kClashing;
    judge_message(index, kClashing);
    judge_message(ends.first, kClashing);
  }

  // partner: the event at the other end, kUnmatched or kClashing.
  void judge_message(Index index, Index partner) {
    const Event& e = events_[index];
    Judgement& judged = judgements_[index];
    if (e.kind == kSend && is_transfer_of_window(e.call)) return judged.is_unknown(kOtherCall);
    if (e.peer == e.rank || (e.kind == kSend && is_buffered(e.call)) || is_test(e.call))
      return judged.waits_for_nobody();
    if (partner >= kClashing) return judged.is_unknown(partner == kClashing ? kClash : kNoPartner);
    const Event& other = events_[partner];
    if (other.begun == kUnknown) return judged.is_unknown(kNoPartner);
    if (!has_wait(e)) return;
    const double until_begun = double(difference(other.begun, e.wait_begin));
    const double until_end = double(difference(e.wait_end, e.wait_begin));
    judged.uncertainty = uncertainty_between(e.rank, e.peer);
    judged.lateness = std::min(until_begun, until_end);
    judged.cause = e.peer;
    judged.cause_event = partner;
    judged.is_cause_sure = true;
    judged.known = kExact;
    const bool ended_before = until_end < until_begun - judged.uncertainty;
    if (e.kind != kSend) {
      if (ended_before) return judged.is_unknown(kClash);  // it cannot arrive before it is sent
      judged.kind = kLateSender;
      judged.standing = Judgement::kWaits;
    } else {
      if (ended_before && is_synchronous(e.call)) return judged.is_unknown(kClash);
      if (ended_before) {
        judged.waits_for_nobody();
        judged.was_eager = true;
        return;
      }
      judged.kind = kLateReceiver;
      judged.standing = is_synchronous(e.call) ? Judgement::kWaits : Judgement::kWaitsIfRendezvous;
    }
  }

  // A probe waits for the message that it has found. Its receive is another event.
  void judge_probes() {
    for (const Index i : probes_) {
      const Event& e = events_[i];
      judge_message(i, kUnmatched);
      if (!is_rank(e.peer) || e.channel == 0 || e.number == 0) continue;
      const Ends& ends = messages_.of(e);
      if (ends.second == kClashing) {
        judge_message(i, kClashing);
        continue;
      }
      for (const Index end : {ends.first, ends.second})
        if (end < kClashing && events_[end].kind == kSend) judge_message(i, end);
    }
  }

  // Two ends do not always show whether a message was eager, but others of its size may. Nothing
  // is concluded where sizes contradict each other: a full buffer holds back small messages, too.
  void judge_by_size() {
    struct Limits {
      uint64_t largest_eager = 0;
      uint64_t smallest_rendezvous = std::numeric_limits<uint64_t>::max();
      bool has_eager = false;
    } of_way[2];  // between clocks, and within one: other transports have other limits
    for (const StandardSend& send : standard_sends_) {
      const Judgement& judged = judgements_[send.event];
      Limits& limits = of_way[send.is_within];
      if (judged.was_eager) {
        limits.largest_eager = std::max(limits.largest_eager, send.bytes);
        limits.has_eager = true;
      } else if (send.is_blocking && judged.standing != Judgement::kNone &&
                 judged.lateness > std::max(kLongerThanCopies, judged.uncertainty)) {
        limits.smallest_rendezvous = std::min(limits.smallest_rendezvous, send.bytes);
      }
    }
    for (const StandardSend& send : standard_sends_) {
      const Limits& limits = of_way[send.is_within];
      if (limits.has_eager && limits.largest_eager >= limits.smallest_rendezvous) continue;
      Judgement& judged = judgements_[send.event];
      const bool is_alone = judged.known == 0 && judged.gap == kNoPartner;
      if (limits.has_eager && send.bytes <= limits.largest_eager &&
          (is_alone || judged.standing == Judgement::kWaitsIfRendezvous))
        judged.waits_for_nobody();
      else if (send.bytes >= limits.smallest_rendezvous &&
               judged.standing == Judgement::kWaitsIfRendezvous)
        judged.standing = Judgement::kWaits;
    }
  }

  // ---- one-sided transfers ----
  void judge_windows() {
    for (const InWindow& found :
         waits_in_windows(events_, of_windows_.data(), of_windows_.size(), clocks_))
      judge_window(found);
  }

  void judge_window(const InWindow& found) {
    const Event& e = events_[found.event];
    Judgement& judged = judgements_[found.event];
    if (found.answer == InWindow::kNobody) return judged.waits_for_nobody();
    if (found.answer == InWindow::kNoAnswer) return judged.is_unknown(found.gap);
    const Event& other = events_[found.late];
    if (other.begun == kUnknown || !has_wait(e)) return judged.is_unknown(kNoPartner);
    const double until_begun = double(difference(other.begun, e.wait_begin));
    const double until_end = double(difference(e.wait_end, e.wait_begin));
    const double uncertainty = uncertainty_between(e.rank, other.rank);
    if (until_end < until_begun - uncertainty)
      return found.answer == InWindow::kLateOrLeft ? judged.waits_for_nobody()
                                                   : judged.is_unknown(kClash);
    judged = Judgement();
    judged.uncertainty = uncertainty;
    judged.lateness = std::min(until_begun, until_end);
    judged.cause = other.rank;
    judged.cause_event = Index(found.late);
    judged.kind = kLateOneSided;
    judged.standing = Judgement::kWaits;
    judged.gap = found.gap;
    judged.known = found.is_bound ? kBound : kExact;
    judged.is_cause_sure = found.is_sure;
  }

  // ---- calls: what the events of one call say together ----
  void take_call(const Run& run) {
    if (!runs_.empty() && runs_.back().is_of(run) &&
        runs_.back().first + runs_.back().n == run.first)
      ++runs_.back().n;
    else
      runs_.push_back(run);
  }

  void judge_calls() {
    sort_by_ranks(runs_, clocks_.n_ranks, arena_);
    std::vector<Index> call;
    for (size_t first = 0, last; first < runs_.size(); first = last) {
      call.clear();
      for (last = first; last < runs_.size() && runs_[last].is_of(runs_[first]); ++last)
        for (Index i = 0; i < runs_[last].n; ++i) call.push_back(runs_[last].first + i);
      judge_call(call.data(), call.size());
    }
  }

  // The send, or else the other event, whose other end was latest or earliest; nullptr: none.
  const Index* latest(const Index* call, size_t n, Judgement::Standing standing, bool is_send,
                      bool earliest) const {
    const Index* found = nullptr;
    for (size_t k = 0; k < n; ++k) {
      const Judgement& judged = judgements_[call[k]];
      if (judged.standing != standing || (events_[call[k]].kind == kSend) != is_send) continue;
      const double gain = found ? judged.lateness - judgements_[*found].lateness : 1;
      const bool is_lower = found && judged.cause < judgements_[*found].cause;
      if (!found || (earliest ? gain < 0 : gain > 0) || (gain == 0 && is_lower)) found = &call[k];
    }
    return found;
  }

  // Whether no other cause may have come later than the latest one, or before the earliest.
  bool is_top_for_sure(const Index* call, size_t n, const Judgement& top, bool earliest) const {
    for (size_t k = 0; k < n; ++k) {
      const Judgement& judged = judgements_[call[k]];
      if (judged.standing != Judgement::kWaits || judged.cause == top.cause) continue;
      const double lead = (earliest ? -1 : 1) * (top.lateness - judged.lateness);
      if (lead < uncertainty_between(top.cause, judged.cause)) return false;
    }
    return true;
  }

  void judge_call(const Index* call, size_t n) {
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
      const Judgement& judged = judgements_[call[k]];
      step = std::max(step, e.step);
      has_test = has_test || is_test(e.call);
      has_waitsome = has_waitsome || e.call == PERFIELD_CALL_waitsome;
      only_sends = only_sends && e.kind == kSend;
      may_overlap = may_overlap || may_share_its_call(e);
      if (judged.known < known) gap = judged.gap;
      known = std::min(known, judged.known);
      double& longest =
          judged.standing == Judgement::kWaitsIfRendezvous ? possible_if_rendezvous : possible;
      longest = std::max(longest, judged.lateness + judged.uncertainty);
      if (judged.standing == Judgement::kWaits) any_waits[e.kind == kSend] = true;
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
        any_waits[false] ? latest(call, n, Judgement::kWaits, false, has_waitsome) : nullptr;
    double doubt = 0;       // waiting beyond top's
    int32_t doubtful = -1;  // and for whom
    // A late partner sends and posts its receives at nearly the same time: it is a late sender.
    // Only a send that waited clearly longer, or for another rank, makes it a late receiver.
    for (const Judgement::Standing standing : {Judgement::kWaits, Judgement::kWaitsIfRendezvous}) {
      const bool any = standing == Judgement::kWaits ? any_waits[true] : possible_if_rendezvous > 0;
      if (!any || (has_waitsome && top)) continue;
      const Index* send = latest(call, n, standing, true, false);
      const double shown = top ? std::max(judgements_[*top].lateness, 0.0) : 0;
      const double lateness = judgements_[*send].lateness;
      if (lateness <= shown) continue;
      // Without other evidence, a call that only sends lasts so long for its receivers. Where it
      // receives, too, the receiver must explain more time than is left for a transfer.
      // Where others may be in the call, too, it shows nothing.
      const bool is_shown =
          standing == Judgement::kWaits || ((known == kExact || !may_overlap) &&
                                            (only_sends || lateness - shown >= blocked - lateness));
      const bool is_other = standing == Judgement::kWaits && top &&
                            judgements_[*send].cause != judgements_[*top].cause;
      if (is_shown && (is_other || lateness - shown > kClearly * lateness))
        top = send;
      else if (lateness - shown > doubt) {
        doubt = lateness - shown;
        doubtful = judgements_[*send].cause;
      }
    }
    const double waited = top ? std::max(judgements_[*top].lateness, 0.0) : 0;
    const double uncertainty = top ? judgements_[*top].uncertainty : 0;
    const Protocol protocol =
        top && judgements_[*top].kind == kLateReceiver ? kRendezvous : kProtocolUnknown;
    if (waited > uncertainty) {
      const Judgement& judged = judgements_[*top];
      if (doubt > std::max(kClearly * waited, uncertainty))
        known = std::min(known, uint8_t(kBound));
      const uint8_t exactness = known == kExact ? kExact : kBound;
      const double spread = is_mean(events_[*top]) ? blocked - waited : 0;
      if (exactness == kExact) {
        cover.covered.exact_ns += blocked;
      } else {
        if (judged.known == kExact && known == kBound && doubt > 0 && !is_bound_by_rows)
          gap = kEitherWay;
        cover.covered.bounded_ns += waited;
        cover.covered.gap_ns[is_bound_by_rows ? kOnlySums : Gap(gap)] += blocked - waited;
      }
      const bool is_sure = judged.is_cause_sure &&
                           (exactness == kBound || doubt == 0 || doubtful == judged.cause) &&
                           is_top_for_sure(call, n, judged, has_waitsome);
      add_state({step, rank, is_sure ? judged.cause : -1, judged.kind, exactness,
                 events_[*top].call, protocol, *top, judged.cause_event, waited,
                 uncertainty + (exactness == kExact ? doubt + spread : 0)},
                may_overlap, sharing);
      return;
    }
    if (waited > 0)
      add_state({step, rank, -1, judgements_[*top].kind, kUncertain, events_[*top].call, protocol,
                 *top, -1, waited, uncertainty},
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
  ArenaVector<Judgement> judgements_;  // of each event
  ArenaVector<Run> runs_{arena_};
  MessageTable<Ends> messages_{arena_};
  LateMembers members_{events_, clocks_, judgements_.data(), arena_};
  RowBounds bounds_{events_, judgements_.size(), clocks_, judgements_.data(), members_, arena_};
  ArenaVector<Index> of_windows_{arena_}, probes_{arena_};
  ArenaVector<StandardSend> standard_sends_{arena_};
  std::vector<FoundState> found_;
  std::vector<Cover> covers_;
};

}  // namespace

WaitStates find_wait_states(const Event* events, size_t n_events, const Clocks& clocks) {
  if (n_events >= kClashing) throw std::bad_alloc();  // 309 GB
  return Finder(events, n_events, clocks).find();
}

}  // namespace perfield::waits
