// SPDX-License-Identifier: BSD-3-Clause
//
// critical_path.cpp - see critical_path.hpp.
#include "waits/critical_path.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "waits/collectives.hpp"

namespace perfield::waits {
namespace {

class Path {
 public:
  explicit Path(const Timeline& timeline) : timeline_(timeline) {}

  // The rank was on the path from `begin` to `end`.
  void add(int32_t rank, int64_t begin, int64_t end) {
    const std::vector<Call>& calls = timeline_.calls(rank);
    for (size_t k = timeline_.first_call_after(rank, begin); begin < end;) {
      const int64_t step = k < calls.size() ? calls[k].step : calls.back().step;
      while (k < calls.size() && calls[k].step == step && calls[k].end < end) ++k;
      const bool goes_on = k < calls.size() && calls[k].step != step;
      const int64_t until = goes_on ? calls[k - 1].end : end;
      const Spent spent = timeline_.spent(rank, begin, until);
      OnPath& part = parts_[{step, rank}];
      part.computing_ns += spent.computing;
      part.communicating_ns += double(difference(until, begin)) - spent.computing;
      begin = until;
    }
  }

  std::vector<OnPath> parts() const {
    std::vector<OnPath> list;
    for (const auto& [at, part] : parts_)
      list.push_back({at.first, at.second, 0, part.computing_ns, part.communicating_ns});
    return list;
  }

 private:
  const Timeline& timeline_;
  std::map<std::pair<int64_t, int32_t>, OnPath> parts_;
};

}  // namespace

std::vector<OnPath> critical_path(const Event* events, const State* states,
                                  const Timeline& timeline) {
  Path path(timeline);
  int32_t rank = -1;
  int64_t time = 0;
  for (int32_t r = 0; r < timeline.n_ranks(); ++r)
    if (!timeline.calls(r).empty() && (rank < 0 || timeline.extent(r).second > time)) {
      rank = r;
      time = timeline.extent(r).second;
    }
  while (rank >= 0) {
    const std::vector<Call>& calls = timeline.calls(rank);
    // The last wait that was over by then, for a rank whose event lies before `time`.
    size_t k = std::min(timeline.first_call_after(rank, time), calls.size() - 1) + 1;
    int32_t cause = -1;
    int64_t since = 0;
    while (k > 0 && cause < 0) {
      const Call& call = calls[--k];
      if (call.state < 0 || call.waited <= 0) continue;
      const State& state = states[call.state];
      if (state.cause_event < 0 || state.cause >= timeline.n_ranks()) continue;
      since = call.begin + int64_t(call.waited);
      const Event& reached = events[state.cause_event];
      if (since > time || reached.begun == kUnknown || timeline.calls(state.cause).empty())
        continue;
      // Uncertain clocks must not lead forward in time.
      if (since >= time && reached.begun >= time) continue;
      cause = state.cause;
    }
    if (cause < 0) {
      path.add(rank, timeline.extent(rank).first, time);
      break;
    }
    path.add(rank, since, time);
    rank = cause;
    time = std::min(since, earlier(time, since == time));
  }
  return path.parts();
}

namespace {

enum class Needs { nobody, all, root };

// Whose entry a rank needs before it can leave a collective operation.
Needs needs_of(const Event& e) {
  switch (collective_of(e.call).pattern) {
    case Pattern::kAllToAll:
      return Needs::all;
    case Pattern::kOneToAll:
      return e.flags & kRoot ? Needs::nobody : Needs::root;
    case Pattern::kAllToOne:
      return e.flags & kRoot ? Needs::all : Needs::nobody;
    default:
      return Needs::nobody;
  }
}

// A moment of a rank: an event begins, or a call ends.
struct Moment {
  int64_t time;  // measured
  bool is_end;
  int32_t rank;
  int64_t of;  // the event, or the call
};

class Replay {
 public:
  Replay(const Event* events, const State* states, const Timeline& timeline, const double* factor,
         bool is_instant)
      : events_(events),
        states_(states),
        timeline_(timeline),
        factor_(factor),
        is_instant_(is_instant) {
    const size_t n_events = timeline.call_of().size();
    begun_.resize(n_events);
    last_.resize(n_events);
    root_.resize(n_events);
    needed_.resize(size_t(timeline.n_ranks()));
    for (int32_t rank = 0; rank < timeline.n_ranks(); ++rank)
      needed_[size_t(rank)].resize(timeline.calls(rank).size());
    for (size_t i = 0; i < n_events; ++i) {
      const int64_t call = timeline.call_of()[i];
      if (call < 0) continue;
      if (timeline.send_of()[i] >= 0 || timeline.operation_of()[i] >= 0)
        needed_[size_t(events[i].rank)][size_t(call)].push_back(int64_t(i));
    }
  }

  std::vector<double> run() {
    std::vector<Moment> moments = all_moments();
    // Events lie before the ends of the calls that need them, and behind what their rank did
    // before.
    std::sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) {
      return std::tie(a.time, b.is_end, a.rank, a.of) < std::tie(b.time, a.is_end, b.rank, b.of);
    });
    now_.assign(size_t(timeline_.n_ranks()), 0);
    seen_.assign(now_.size(), 0);
    for (int32_t rank = 0; rank < timeline_.n_ranks(); ++rank) {
      seen_[size_t(rank)] = timeline_.extent(rank).first;
      now_[size_t(rank)] =
          timeline_.calls(rank).empty() ? 0 : double(difference(seen_[size_t(rank)], first_));
    }
    for (const Moment& moment : moments) moment.is_end ? leave(moment) : begin(moment);
    return now_;
  }

 private:
  // When something happened, in ns after the begin of the first rank; long ago: not yet.
  struct Times {
    double replayed = -1e300, measured = -1e300;
  };

  std::vector<Moment> all_moments() {
    std::vector<Moment> moments;
    bool any = false;
    for (int32_t rank = 0; rank < timeline_.n_ranks(); ++rank) {
      const std::vector<Call>& calls = timeline_.calls(rank);
      if (calls.empty()) continue;
      const int64_t begin = timeline_.extent(rank).first;
      first_ = any ? std::min(first_, begin) : begin;
      any = true;
      for (size_t k = 0; k < calls.size(); ++k)
        moments.push_back({calls[k].end, true, rank, int64_t(k)});
    }
    for (size_t i = 0; i < begun_.size(); ++i) {
      const Event& e = events_[i];
      if (e.begun == kUnknown || e.rank < 0) continue;
      if (e.kind != kCollective || timeline_.operation_of()[i] >= 0)
        moments.push_back({e.begun, false, e.rank, int64_t(i)});
    }
    return moments;
  }

  double would_be(int32_t rank, int64_t time) const {
    const size_t r = size_t(rank);
    return now_[r] + timeline_.spent(rank, seen_[r], time).computing * factor_[r];
  }

  void begin(const Moment& moment) {
    const Times at{would_be(moment.rank, moment.time), double(difference(moment.time, first_))};
    begun_[size_t(moment.of)] = at;
    const int64_t operation = timeline_.operation_of()[size_t(moment.of)];
    if (operation < 0) return;
    Times& last = last_[size_t(operation)];
    last = {std::max(last.replayed, at.replayed), std::max(last.measured, at.measured)};
    if (events_[moment.of].flags & kRoot) root_[size_t(operation)] = at;
  }

  void leave(const Moment& moment) {
    const size_t r = size_t(moment.rank);
    const Call& call = timeline_.calls(moment.rank)[size_t(moment.of)];
    const auto& needed = needed_[r][size_t(moment.of)];
    double leaves = would_be(moment.rank, call.begin);
    double lacked = double(difference(call.begin, first_));  // until then, as measured
    const auto needs = [&](const Times& times) {
      leaves = std::max(leaves, times.replayed);
      lacked = std::max(lacked, times.measured);
    };
    for (const int64_t event : needed) needs(needed_by(event));
    // Which sends need their receive is known of those that waited for it, and so it is of locks.
    const State* const state = call.state >= 0 ? &states_[call.state] : nullptr;
    if (state && state->cause_event >= 0 &&
        (state->kind == kLateReceiver || state->kind == kLateOneSided))
      needs(begun_[size_t(state->cause_event)]);
    if (!is_instant_) leaves += std::max(0.0, double(difference(call.end, first_)) - lacked);
    now_[r] = leaves;
    seen_[r] = std::max(seen_[r], call.end);
  }

  Times needed_by(int64_t event) const {
    const int64_t send = timeline_.send_of()[size_t(event)];
    if (send >= 0) return begun_[size_t(send)];
    const size_t operation = size_t(timeline_.operation_of()[size_t(event)]);
    switch (needs_of(events_[event])) {
      case Needs::all:
        return last_[operation];
      case Needs::root:
        return root_[operation];
      default:
        return {};
    }
  }

  const Event* events_;
  const State* states_;
  const Timeline& timeline_;
  const double* factor_;
  const bool is_instant_;
  int64_t first_ = 0;                                      // the begin of the first rank
  std::vector<Times> begun_, last_, root_;                 // of each event, and of each operation
  std::vector<std::vector<std::vector<int64_t>>> needed_;  // events of each rank's calls
  std::vector<double> now_;                                // of each rank, in the replay
  std::vector<int64_t> seen_;                              // ... which was then
};

}  // namespace

std::vector<double> replay(const Event* events, const State* states, const Timeline& timeline,
                           const double* factor, bool is_instant) {
  return Replay(events, states, timeline, factor, is_instant).run();
}

}  // namespace perfield::waits
