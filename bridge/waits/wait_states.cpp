// SPDX-License-Identifier: BSD-3-Clause
//
// wait_states.cpp - see wait_states.hpp. The terms are those of Scalasca's pattern documentation.
//
// First each event is judged alone: how late was the other end? Then the events of one call
// (Waitall, Sendrecv) are judged together, since a rank waits for the latest of them only.
#include "waits/wait_states.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "format/calls.h"
#include "format/peers.h"
#include "waits/collectives.hpp"
#include "waits/groups.hpp"
#include "waits/memory.hpp"
#include "waits/messages.hpp"
#include "waits/one_sided.hpp"
#include "waits/sorting.hpp"

namespace perfield::waits {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
using Index = uint32_t;  // of an event; in place of that of the other end of a message:
constexpr Index kUnmatched = UINT32_MAX, kClashing = UINT32_MAX - 1;

// Smaller shares of a wait decide neither its kind nor whether it is exact.
constexpr double kClearly = 0.05;
// No eager MPI_Send takes so long (ns) but where its buffer is full.
constexpr double kLongerThanCopies = 100000;
// Rows of one pair of ranks and step that are compared; there is one per kind of call.
constexpr size_t kMostRowsOfPair = 64;

bool is_test(uint16_t call) { return call >= PERFIELD_CALL_test && call <= PERFIELD_CALL_testsome; }

bool is_buffered(uint16_t call) {
  return call == PERFIELD_CALL_bsend || call == PERFIELD_CALL_ibsend;
}

bool is_synchronous(uint16_t call) {
  return call == PERFIELD_CALL_ssend || call == PERFIELD_CALL_issend;
}

// Whether MPI chooses between eager and rendezvous by the size.
bool is_standard(uint16_t call) {
  return call == PERFIELD_CALL_send || call == PERFIELD_CALL_isend ||
         call == PERFIELD_CALL_sendrecv || call == PERFIELD_CALL_sendrecv_replace;
}

bool only_starts(uint16_t call) {
  return call == PERFIELD_CALL_isend || call == PERFIELD_CALL_ibsend ||
         call == PERFIELD_CALL_issend || call == PERFIELD_CALL_irsend;
}

// Whether the call that blocks for the event may block for others at the same time.
bool may_share_its_call(const Event& event) {
  if (event.kind == kReceive) return true;
  // MPI completed it at once, in the call that started it.
  if (event.kind == kSend && only_starts(event.call) && event.begun == event.wait_begin)
    return false;
  if (event.kind == kSynchronisation) return bounds_epoch(event.call);
  if (event.kind == kCollective)
    return (event.call >= PERFIELD_CALL_ibarrier && event.call <= PERFIELD_CALL_iexscan) ||
           event.call == PERFIELD_CALL_persistent_collective;
  return event.call > PERFIELD_CALL_rsend && !is_transfer_of_window(event.call);
}

// Messages and requests share calls, and so do partners of one-sided transfers.
enum Sharing : uint8_t { kAmongMessages, kAmongPartners, kSharings };
Sharing sharing_of(const Event& event) {
  return event.kind == kSynchronisation ? kAmongPartners : kAmongMessages;
}

bool is_message_end(const Event& event) { return event.kind < kCollective; }

bool is_row(const Event& event) { return event.flags & (kSingle | kMean); }
bool is_mean(const Event& event) { return (event.flags & kMean) || event.count != 1; }

bool is_alone_in_its_call(const Event& event) { return !may_share_its_call(event); }

// How many messages or operations of a row one call may have completed: its waiting is in so many
// differences of stamps.
uint32_t most_in_call(const Event& row) {
  if (!may_share_its_call(row)) return 1;
  return row.most_in_call ? std::min(row.most_in_call, row.count) : row.count;
}

// Whether the event is a row of several messages for which one call blocked: a call like others,
// but for the partner's stamps, of which only the mean is known.
bool is_row_of_call(const Event& event) {
  return is_mean(event) && is_message_end(event) && may_share_its_call(event) &&
         is_of_one_call(event) && has_wait(event);
}

// The time for which all messages of a row blocked, at least: that of a call counts once, and means
// are rounded.
double blocked_ns_of(const Event& row) {
  const double mean = std::max(0.0, double(difference(row.wait_end, row.wait_begin)) - 1);
  return double(row.count) * mean / double(std::max(1u, most_in_call(row)));
}

// What one event says about the wait in its call.
struct Judgement {
  enum Standing : uint8_t { kNone, kWaits, kWaitsIfRendezvous };

  double lateness = kNever;  // of the cause, after the call was entered; at most until it was left
  double uncertainty = 0;
  Index cause_event = kUnmatched;
  int32_t cause = -1;
  uint8_t kind = kLateSender;
  uint8_t gap = kNoPartner;
  uint8_t known = 0;  // Exactness; 0: nothing, for the reason that gap says
  Standing standing = kNone;
  bool is_cause_sure = false;
  bool was_eager = false;

  void is_unknown(Gap reason) {
    *this = Judgement();
    gap = reason;
  }
  void waits_for_nobody() {
    *this = Judgement();
    known = kExact;
  }
};

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

struct FoundState {
  State state;
  bool may_overlap;  // rows of the same step may hold the same call
  Sharing sharing;
};

struct Cover {
  Covered covered;
  double shareable_ns[kSharings];  // of blocked_ns, in calls that rows may hold, too
};

struct RowBound {          // of a row with a count above 1
  State state;             // time_ns is 0 where it shows no waiting
  bool state_may_overlap;  // as it is of this row and of others of the pair
  double blocked_ns;
  bool may_overlap;
  Sharing sharing;
  bool is_paired;
  Gap gap;
};

bool before(const State& a, const State& b) {
  return std::tie(a.step, a.rank, a.event) < std::tie(b.step, b.rank, b.event);
}

using StepOfRank = std::pair<int64_t, int32_t>;

class Finder {
 public:
  Finder(const Event* events, size_t n_events, const Clocks& clocks)
      : events_(events), clocks_(clocks), judgements_(n_events, arena_) {
    for (size_t i = 0; i < n_events; ++i)
      if (is_usable(events[i])) take(Index(i));
  }

  WaitStates find() {
    judge_probes();
    judge_by_size();
    judge_windows();
    judge_collectives();
    bound_pairs();
    bound_collectives();
    judge_calls();
    return join();
  }

 private:
  bool is_rank(int32_t rank) const { return clocks_.has(rank); }
  bool is_usable(const Event& event) const {
    return is_rank(event.rank) && event.kind <= kSynchronisation;
  }
  bool is_message(const Event& event) const {
    return is_usable(event) && is_message_end(event) && is_rank(event.peer) &&
           !is_transfer_of_window(event.call);
  }

  double uncertainty_between(int32_t a, int32_t b) const {
    return clocks_.uncertainty_between(a, b);
  }

  // Events are read from the first to the last once; later, only those of a kind are.
  void take(Index index) {
    const Event& e = events_[index];
    if (e.kind == kCollective) collectives_.push_back(index);
    if (is_row_of_call(e)) take_call({e.wait_begin, e.wait_end, e.rank, index, 1});
    if (is_mean(e)) return means_.push_back(index);
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
    if (!is_message(e)) return;
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

  // ---- collective operations ----
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

  void judge_collectives() {
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
    for_each_by_rank(operations, [this](const Index* group, size_t n) { judge_group(group, n); });
  }

  // How many ranks are members of a communicator whose size is not known, as far as events show.
  size_t ranks_seen(uint32_t communicator) const {
    const auto range = std::equal_range(
        unsized_members_.begin(), unsized_members_.end(), std::make_pair(communicator, 0),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    return size_t(range.second - range.first);
  }

  void all_unknown(const Index* group, size_t n, Gap gap) {
    for (size_t k = 0; k < n; ++k) judgements_[group[k]].is_unknown(gap);
  }

  // Members of one operation, or of the same operations, by rank.
  void judge_group(const Index* group, size_t n) {
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
      return judge_all_to_all(group, n, collective.kind, is_complete);
    if (n_roots > 1) return all_unknown(group, n, kClash);
    // The root of several operations is one rank only if no other rank was root of some of them.
    if (n_roots == 0 || (is_mean(any) && !(is_complete && any.size != 0)))
      return all_unknown(group, n, kIncomplete);
    for (size_t k = 0; k < n; ++k) judgements_[group[k]].waits_for_nobody();
    if (collective.pattern == Pattern::kOneToAll) {
      for (size_t k = 0; k < n; ++k)
        if (k != root) judge_member(group[k], group[root], collective.kind, kExact, true);
      return;
    }
    const Index* last = last_of(group, n, root);
    if (!last) return judgements_[group[root]].is_unknown(kIncomplete);
    judge_member(group[root], *last, collective.kind,
                 is_complete && any.size != 0 ? kExact : kBound,
                 is_complete && is_last_for_sure(group, n, *last, root));
  }

  void judge_all_to_all(const Index* group, size_t n, StateKind kind, bool is_complete) {
    const Index* last = last_of(group, n, n);
    if (!last) return all_unknown(group, n, kIncomplete);
    const bool is_sure = is_complete && is_last_for_sure(group, n, *last, n);
    const Exactness known = is_complete && events_[group[0]].size != 0 ? kExact : kBound;
    bool is_possible = true;
    for (size_t k = 0; k < n; ++k) {
      Judgement& judged = judgements_[group[k]];
      if (group[k] != *last)
        judge_member(group[k], *last, kind, known, is_sure);
      else if (known == kExact)
        judged.waits_for_nobody();
      else
        judged.is_unknown(kIncomplete);
      is_possible = is_possible && !(judged.known == 0 && judged.gap == kClash);
    }
    // Nobody leaves a barrier before all have come; ranks leave other operations if they need
    // nothing of the last.
    if (!is_possible && kind == kBarrier) all_unknown(group, n, kClash);
  }

  // The member that began last, of all but one; the first of equals.
  const Index* last_of(const Index* group, size_t n, size_t except) const {
    const Index* last = nullptr;
    for (size_t k = 0; k < n; ++k) {
      const int64_t begun = events_[group[k]].begun;
      if (k != except && begun != kUnknown && (!last || begun > events_[*last].begun))
        last = &group[k];
    }
    return last;
  }

  bool is_last_for_sure(const Index* group, size_t n, Index last, size_t except) const {
    const Event& latest = events_[last];
    for (size_t k = 0; k < n; ++k) {
      const Event& e = events_[group[k]];
      if (k == except || group[k] == last || e.begun == kUnknown) continue;
      if (double(difference(latest.begun, e.begun)) < uncertainty_between(latest.rank, e.rank))
        return false;
    }
    return true;
  }

  void judge_member(Index member, Index late, StateKind kind, Exactness known, bool is_cause_sure) {
    const Event& e = events_[member];
    const Event& other = events_[late];
    Judgement& judged = judgements_[member];
    if (other.begun == kUnknown) return judged.is_unknown(kIncomplete);
    if (!has_wait(e)) return judged.is_unknown(kNoPartner);
    const double until_begun = double(difference(other.begun, e.wait_begin));
    const double until_end = double(difference(e.wait_end, e.wait_begin));
    judged = Judgement();
    judged.uncertainty = uncertainty_between(e.rank, other.rank);
    if (until_end < until_begun - judged.uncertainty) return judged.is_unknown(kClash);
    judged.lateness = std::min(until_begun, until_end);
    judged.cause = other.rank;
    judged.cause_event = late;
    judged.kind = kind;
    judged.standing = Judgement::kWaits;
    judged.gap = kIncomplete;
    judged.known = known;
    judged.is_cause_sure = is_cause_sure;
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
        may_overlap && known == kExact &&
        std::binary_search(has_rows_[sharing].begin(), has_rows_[sharing].end(),
                           StepOfRank(step, rank));
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

  // ---- rows of several messages: bounds, as sum of max(0, x) >= max(0, sum of x) ----
  void bound_pairs() {
    bool has_means = false;
    for (const Index i : means_) {
      const Event& e = events_[i];
      if (e.kind == kCollective) continue;
      const bool is_of_call = is_row_of_call(e);
      if (may_share_its_call(e) && !is_of_call)
        has_rows_[sharing_of(e)].push_back({e.step, e.rank});
      if (is_message(e) || (is_of_probe(e) && is_rank(e.peer)))
        has_means = true;
      else if (is_of_call)
        judgements_[i].is_unknown(kNoPartner);
      else if (e.kind == kSynchronisation)
        add_row(i, nullptr, kUnpaired, 0);
      else
        add_row(i, nullptr, e.kind == kSend && is_rank(e.peer) ? kOtherCall : kNoPartner, 0);
    }
    if (!has_means) return;
    Groups pairs(arena_);  // of ranks, in each step
    for (Index i = 0; i < judgements_.size(); ++i) {
      const Event& e = events_[i];
      if (is_usable(e) && (is_message(e) || (is_of_probe(e) && is_rank(e.peer))) &&
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
  bool count_the_same(const std::vector<Index>& sends, const std::vector<Index>& receives) const {
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

  void bound_pair(const std::vector<Index>& sends, const std::vector<Index>& receives) {
    const bool is_paired = count_the_same(sends, receives);
    const auto all = [this](const std::vector<Index>& rows, auto condition) {
      return std::all_of(rows.begin(), rows.end(), [&](Index i) { return condition(events_[i]); });
    };
    const auto has_begun = [](const Event& e) { return e.begun != kUnknown; };
    const bool to_itself = events_[(sends.empty() ? receives : sends)[0]].peer ==
                           events_[(sends.empty() ? receives : sends)[0]].rank;
    // One bound for all rows of this end; the first of them holds it. Rows of one call are judged
    // with that call.
    const auto bound = [&](std::vector<Index> waiting, const std::vector<Index>& late,
                           StateKind kind, bool may_wait, Gap gap) {
      for (const Index row : waiting)
        if (is_row_of_call(events_[row])) {
          const std::vector<Index> same =
              is_paired && waiting.size() == 1 ? late : of_same_messages(events_[row], late);
          judge_row_of_call(row, all(same, has_begun) ? same : std::vector<Index>(), kind);
        }
      if (all(waiting, is_row_of_call)) return;
      std::stable_partition(waiting.begin(), waiting.end(),
                            [this](Index row) { return !is_row_of_call(events_[row]); });
      const bool has_bound =
          is_paired && may_wait && all(waiting, has_wait) && all(late, has_begun);
      Judgement judged;
      if (has_bound) {
        const Event& e = events_[waiting[0]];
        judged.cause = e.peer;
        judged.cause_event = late[0];
        judged.is_cause_sure = true;
        judged.kind = kind;
        judged.lateness = sum_of_lateness(waiting, late) / most_in_call_of(waiting);
      }
      const size_t first = rows_.size();
      for (size_t k = 0; k < waiting.size(); ++k)
        if ((is_mean(events_[waiting[k]]) && !is_row_of_call(events_[waiting[k]])) || k == 0)
          add_row(waiting[k], has_bound ? &judged : nullptr, is_paired ? gap : kUnpaired,
                  k == 0 && has_bound ? judged.lateness : 0);
      if (has_bound) rows_[first].state_may_overlap = !all(waiting, is_alone_in_its_call);
    };
    if (to_itself) {
      Judgement none;
      for (const auto* rows : {&sends, &receives})
        for (const Index i : *rows)
          if (is_row_of_call(events_[i]))
            judgements_[i].waits_for_nobody();
          else if (is_mean(events_[i]))
            add_row(i, &none, kNoPartner, 0);
      return;
    }
    if (!receives.empty()) bound(receives, sends, kLateSender, true, kNoPartner);
    const bool synchronous = all(sends, [](const Event& e) { return is_synchronous(e.call); });
    if (!sends.empty()) bound(sends, receives, kLateReceiver, synchronous, kEitherWay);
  }

  // As receives, if each message was probed once; rows of one probe are judged alone.
  void bound_probes(const std::vector<Index>& probes, const std::vector<Index>& sends) {
    const auto is_bound = [this](Index i) { return is_mean(events_[i]) && has_wait(events_[i]); };
    const auto has_begun = [this](Index i) { return events_[i].begun != kUnknown; };
    const bool is_paired = count_the_same(sends, probes) &&
                           std::all_of(probes.begin(), probes.end(), is_bound) &&
                           std::all_of(sends.begin(), sends.end(), has_begun);
    Judgement judged;
    judged.cause = events_[probes[0]].peer;
    judged.cause_event = is_paired ? sends[0] : kUnmatched;
    judged.is_cause_sure = true;
    for (size_t k = 0; k < probes.size(); ++k)
      if (is_mean(events_[probes[k]]))
        add_row(probes[k], is_paired ? &judged : nullptr, kUnpaired,
                is_paired && k == 0 ? sum_of_lateness(probes, sends) : 0);
  }

  // The row that counts the same messages at the other end; none if that is not known.
  std::vector<Index> of_same_messages(const Event& row, const std::vector<Index>& others) const {
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
  void judge_row_of_call(Index index, const std::vector<Index>& late, StateKind kind) {
    const Event& e = events_[index];
    Judgement& judged = judgements_[index];
    if (e.kind == kSend && is_buffered(e.call)) return judged.waits_for_nobody();
    if (late.empty()) return judged.is_unknown(kUnpaired);
    double until_begun = 0;
    for (const Index i : late)
      until_begun += double(events_[i].count) * double(difference(events_[i].begun, e.wait_begin));
    until_begun /= double(e.count);
    double until_all_begun = std::numeric_limits<double>::infinity();
    if (late.size() == 1 && is_row_of_call(events_[late.front()]))
      until_all_begun = double(difference(events_[late.front()].wait_begin, e.wait_begin));
    const double blocked = double(difference(e.wait_end, e.wait_begin));
    const double uncertainty = uncertainty_between(e.rank, e.peer);
    const bool is_certain = e.kind == kReceive || is_synchronous(e.call);
    if (blocked < until_begun - uncertainty)  // sends: eager
      return is_certain ? judged.is_unknown(kClash) : judged.waits_for_nobody();
    judged = Judgement();
    judged.lateness = std::min(until_begun, blocked) - 1;  // means are rounded
    judged.uncertainty = uncertainty;
    judged.cause = e.peer;
    judged.cause_event = late.front();
    judged.kind = kind;
    judged.gap = kOnlySums;
    const double spread = std::max(0.0, std::min(blocked, until_all_begun + uncertainty)) -
                          std::max(0.0, judged.lateness);
    judged.known = spread <= kClearly * blocked ? kExact : kBound;
    judged.standing = is_certain ? Judgement::kWaits : Judgement::kWaitsIfRendezvous;
    judged.is_cause_sure = true;
  }

  // How many messages of these rows one call may have completed, at most. Rows of one kind of call
  // are of different threads or steps.
  double most_in_call_of(const std::vector<Index>& rows) const {
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
  double sum_of_lateness(const std::vector<Index>& waiting, const std::vector<Index>& late) const {
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
    return std::min(begun, left) - entered - n * (1 + uncertainty_between(any.rank, any.peer));
  }

  void bound_collectives() {
    Groups rows(arena_);
    for (const Index i : means_) {
      const Event& e = events_[i];
      if (e.kind != kCollective) continue;
      if (may_share_its_call(e)) has_rows_[kAmongMessages].push_back({e.step, e.rank});
      rows.add({uint64_t(e.channel) << 32 | e.call, in_order(e.step)}, i);
    }
    for_each_by_rank(rows, [this](const Index* group, size_t n) { bound_group(group, n); });
    for (std::vector<StepOfRank>& of_sharing : has_rows_)
      std::sort(of_sharing.begin(), of_sharing.end());
  }

  void bound_group(const Index* group, size_t n) {
    const Event& any = events_[group[0]];
    bool is_same = any.channel != 0 && any.number != 0;
    for (size_t k = 0; k < n; ++k) {
      const Event& e = events_[group[k]];
      is_same = is_same && e.number == any.number && e.count == any.count;
    }
    if (is_same)
      judge_group(group, n);
    else
      all_unknown(group, n, kUnpaired);
    for (size_t k = 0; k < n; ++k) {
      const Event& e = events_[group[k]];
      const Judgement& judged = judgements_[group[k]];
      add_row(group[k], judged.known ? &judged : nullptr, Gap(judged.gap),
              judged.standing == Judgement::kWaits
                  ? double(e.count) * (judged.lateness - judged.uncertainty - 1) / most_in_call(e)
                  : 0);
    }
  }

  // A row of several, or one that stands for them; judged: nullptr if its waiting is not known.
  void add_row(Index index, const Judgement* judged, Gap gap, double bound) {
    const Event& e = events_[index];
    if (!has_wait(e)) return;
    RowBound row{};
    row.blocked_ns = is_mean(e) ? blocked_ns_of(e) : 0;
    row.may_overlap = row.state_may_overlap = may_share_its_call(e);
    row.sharing = sharing_of(e);
    row.is_paired = judged != nullptr;
    row.gap = gap;
    row.state = {e.step, e.rank, -1, 0, kBound, e.call, kProtocolUnknown, index, -1, 0, 0};
    if (judged && bound > 0) {
      row.state.cause = judged->is_cause_sure ? judged->cause : -1;
      row.state.cause_event = judged->cause_event;
      row.state.kind = judged->kind;
      row.state.protocol = judged->kind == kLateReceiver ? kRendezvous : kProtocolUnknown;
      row.state.time_ns = bound;
    }
    rows_.push_back(row);
  }

  // ---- the whole ----
  WaitStates join() {
    const auto in_order = [](const auto& a, const auto& b) { return before(a.state, b.state); };
    std::sort(found_.begin(), found_.end(), in_order);
    std::sort(rows_.begin(), rows_.end(), in_order);
    WaitStates result;
    result.states.reserve(found_.size());
    std::sort(covers_.begin(), covers_.end(), [](const Cover& a, const Cover& b) {
      return std::tie(a.covered.step, a.covered.rank) < std::tie(b.covered.step, b.covered.rank);
    });
    size_t found = 0, row = 0, cover = 0;
    const auto place_of = [](const auto& list, size_t i, auto of) {
      return i < list.size() ? of(list[i])
                             : StepOfRank(std::numeric_limits<int64_t>::max(),
                                          std::numeric_limits<int32_t>::max());
    };
    const auto of_state = [](const auto& one) {
      return StepOfRank(one.state.step, one.state.rank);
    };
    const auto of_cover = [](const Cover& one) {
      return StepOfRank(one.covered.step, one.covered.rank);
    };
    while (row < rows_.size() || cover < covers_.size()) {
      const StepOfRank place =
          std::min(place_of(rows_, row, of_state), place_of(covers_, cover, of_cover));
      Cover sum{};
      sum.covered.step = place.first;
      sum.covered.rank = place.second;
      for (; cover < covers_.size() && of_cover(covers_[cover]) == place; ++cover)
        add(sum, covers_[cover]);
      const size_t first_found = found, first_row = row;
      while (found < found_.size() && of_state(found_[found]) == place) ++found;
      while (row < rows_.size() && of_state(rows_[row]) == place) ++row;
      join_step(first_found, found, first_row, row, sum, result.states);
      result.covered.push_back(sum.covered);
    }
    return result;
  }

  static void add(Cover& sum, const Cover& part) {
    for (int sharing = 0; sharing < kSharings; ++sharing)
      sum.shareable_ns[sharing] += part.shareable_ns[sharing];
    sum.covered.blocked_ns += part.covered.blocked_ns;
    sum.covered.exact_ns += part.covered.exact_ns;
    sum.covered.bounded_ns += part.covered.bounded_ns;
    sum.covered.uncertain_ns += part.covered.uncertain_ns;
    for (size_t gap = 0; gap < kGaps; ++gap) sum.covered.gap_ns[gap] += part.covered.gap_ns[gap];
  }

  // One rank's step.
  void join_step(size_t first_found, size_t last_found, size_t first_row, size_t last_row,
                 Cover& sum, std::vector<State>& states) {
    const size_t first_state = states.size();
    for (size_t i = first_found; i < last_found; ++i)
      if (!found_[i].may_overlap) states.push_back(found_[i].state);
    for (size_t i = first_row; i < last_row; ++i) {
      const RowBound& row = rows_[i];
      if (!row.may_overlap) {
        sum.covered.blocked_ns += row.blocked_ns;
        sum.covered.gap_ns[row.is_paired ? kOnlySums : row.gap] += row.blocked_ns;
      }
      if (row.state_may_overlap || row.state.time_ns <= 0) continue;
      states.push_back(row.state);
      explain(sum.covered, row.state.time_ns);
    }
    for (const Sharing sharing : {kAmongMessages, kAmongPartners})
      join_shared(sharing, first_found, last_found, first_row, last_row, sum, states);
    std::sort(states.begin() + std::ptrdiff_t(first_state), states.end(), before);
    keep_within(sum.covered.blocked_ns, states.data() + first_state, states.data() + states.size());
  }

  // The invariant of all sums of waiting: a rank waits no longer than it was blocked. It follows
  // from how states are found; where it did not hold, all of them would be too long.
  static void keep_within(double blocked_ns, State* first, State* last) {
    double waited = 0;
    for (const State* state = first; state != last; ++state)
      if (state->exactness != kUncertain) waited += state->time_ns;
    constexpr double kRounding = 1e-9;
    if (waited <= blocked_ns * (1 + kRounding)) return;
    for (State* state = first; state != last; ++state) state->time_ns *= blocked_ns / waited;
  }

  // Rows that may have shared a call bound the same time, so only the largest of them counts, and
  // only if it exceeds what is known of single calls.
  void join_shared(Sharing sharing, size_t first_found, size_t last_found, size_t first_row,
                   size_t last_row, Cover& sum, std::vector<State>& states) {
    const RowBound* most_bound = nullptr;
    const RowBound* longest = nullptr;
    bool is_any_paired = false;
    for (size_t i = first_row; i < last_row; ++i) {
      const RowBound& row = rows_[i];
      if (row.sharing != sharing) continue;
      if (row.state_may_overlap && (!most_bound || row.state.time_ns > most_bound->state.time_ns))
        most_bound = &row;
      if (!row.may_overlap) continue;
      if (!longest || row.blocked_ns > longest->blocked_ns) longest = &row;
      is_any_paired = is_any_paired || row.is_paired;
    }
    const auto is_of_these = [&](const FoundState& one) {
      return one.may_overlap && one.sharing == sharing;
    };
    double known = 0;
    for (size_t i = first_found; i < last_found; ++i)
      if (is_of_these(found_[i]) && found_[i].state.exactness != kUncertain)
        known += found_[i].state.time_ns;
    const bool use_row = most_bound && most_bound->state.time_ns > known;
    for (size_t i = first_found; i < last_found; ++i)
      if (is_of_these(found_[i]) && !use_row) states.push_back(found_[i].state);
    if (longest) {
      const double more = std::max(0.0, longest->blocked_ns - sum.shareable_ns[sharing]);
      sum.covered.blocked_ns += more;
      sum.covered.gap_ns[is_any_paired ? kOnlySums : longest->gap] += more;
    }
    if (!use_row) return;
    states.push_back(most_bound->state);
    explain(sum.covered, most_bound->state.time_ns - known);
  }

  // So much of what is not explained is known to be waiting: of what sums hide, then of all else.
  static void explain(Covered& covered, double ns) {
    for (double* part = covered.gap_ns + kGaps; part-- != covered.gap_ns && ns > 0;) {
      const double taken = std::min(ns, *part);
      *part -= taken;
      covered.bounded_ns += taken;
      ns -= taken;
    }
  }

  const Event* events_;
  Clocks clocks_;
  Arena arena_;
  ArenaVector<Judgement> judgements_;  // of each event
  ArenaVector<Run> runs_{arena_};
  MessageTable<Ends> messages_{arena_};
  ArenaVector<Index> collectives_{arena_}, means_{arena_}, of_windows_{arena_}, probes_{arena_};
  ArenaVector<StandardSend> standard_sends_{arena_};
  std::vector<std::pair<uint32_t, int32_t>> unsized_members_;  // sorted
  std::vector<StepOfRank> has_rows_[kSharings];  // sorted: steps with rows that may share calls
  std::vector<FoundState> found_;
  std::vector<Cover> covers_;
  std::vector<RowBound> rows_;
};

}  // namespace

WaitStates find_wait_states(const Event* events, size_t n_events, const Clocks& clocks) {
  if (n_events >= kClashing) throw std::bad_alloc();  // 309 GB
  return Finder(events, n_events, clocks).find();
}

}  // namespace perfield::waits
