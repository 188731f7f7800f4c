// SPDX-License-Identifier: BSD-3-Clause
//
// delay_costs.cpp - see delay_costs.hpp. States are visited from the last one back, so all that is
// passed on to a state has arrived before it is visited. Passing on to many states of a rank takes
// one addition at each end of their range.
#include "waits/delay_costs.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace perfield::waits {
namespace {

struct Visited {
  int64_t end;  // of the waiting
  size_t call;  // among the rank's calls
  size_t state;
};

class Booking {
 public:
  Booking(const Event* events, const State* states, const Timeline& timeline, int64_t most_steps)
      : events_(events), states_(states), timeline_(timeline), most_steps_(most_steps) {
    rates_.resize(size_t(timeline.n_ranks()));
    for (int32_t rank = 0; rank < timeline.n_ranks(); ++rank)
      rates_[size_t(rank)].resize(timeline.calls(rank).size() + 1);
    running_.resize(rates_.size());
    reached_.resize(rates_.size());
    for (size_t rank = 0; rank < rates_.size(); ++rank)
      reached_[rank] = timeline.calls(int32_t(rank)).size();
  }

  void visit(const Visited& visited) {
    const State& state = states_[visited.state];
    const size_t rank = size_t(state.rank);
    // The rate at which later states pass on to this one.
    while (reached_[rank] > visited.call) running_[rank] += rates_[rank][reached_[rank]--];
    running_[rank] += rates_[rank][visited.call];
    rates_[rank][visited.call] = 0;
    const double waited = timeline_.calls(state.rank)[visited.call].waited;
    divide(state, waited * (1 + std::max(0.0, running_[rank])));
  }

  std::vector<Cost> costs() const {
    std::vector<Cost> list;
    list.reserve(booked_.size());
    for (const auto& [at, cost] : booked_) list.push_back(cost);
    return list;
  }

 private:
  // Divides what A's state came to among the reasons for which B was late.
  void divide(const State& state, double ns) {
    const Event& waits = events_[state.event];
    const Event* const cause = state.cause_event >= 0 ? &events_[state.cause_event] : nullptr;
    const int32_t a = state.rank, b = state.cause;
    if (!cause || b >= timeline_.n_ranks() || cause->begun == kUnknown) {
      book({state.step, b, a, 0, ns, 0});
      return;
    }
    int64_t from_a = timeline_.extent(a).first, from_b = timeline_.extent(b).first;
    timeline_.last_met(a, waits.wait_begin, b, cause->begun, &from_a, &from_b);
    from_a = std::max(from_a, begin_of(a, earlier(waits.step, most_steps_ - 1)));
    from_b = std::max(from_b, begin_of(b, earlier(cause->step, most_steps_ - 1)));
    const Spent of_a = timeline_.spent(a, from_a, waits.wait_begin);
    const Spent of_b = timeline_.spent(b, from_b, cause->begun);
    double computing = std::max(0.0, of_b.computing - of_a.computing);
    double waiting = std::max(0.0, of_b.waiting - of_a.waiting);
    double communicating = std::max(0.0, of_b.communicating - of_a.communicating);
    const double all = computing + waiting + communicating;
    if (all <= 0) {
      book({cause->step, b, a, 0, ns, 0});
      return;
    }
    const double longer = computing;
    computing *= ns / all;
    waiting *= ns / all;
    communicating *= ns / all;
    if (communicating > 0) book({cause->step, b, a, 0, communicating, 0});
    if (computing > 0)
      book_computing({0, b, a, computing, 0, longer}, from_b, *cause, from_a, waits);
    if (waiting > 0 && !pass_on(b, from_b, cause->begun, waiting))
      book({cause->step, b, a, 0, waiting, 0});
  }

  // To the steps in which B computed longer than A, in proportion; to those in which it computed,
  // where it did so in none.
  void book_computing(const Cost& cost, int64_t from, const Event& cause, int64_t from_a,
                      const Event& waits) {
    std::vector<OfStep>& of_b = computed_by_step(cost.rank, from, cause.begun, cause.step, &of_b_);
    if (of_b.size() > 1) {
      std::vector<OfStep>& of_a =
          computed_by_step(cost.waiting, from_a, waits.wait_begin, waits.step, &of_a_);
      double longer = 0;
      for (auto b = of_b.begin(), a = of_a.begin(); b != of_b.end(); ++b) {
        while (a != of_a.end() && a->step < b->step) ++a;
        b->longer = b->ns - (a != of_a.end() && a->step == b->step ? a->ns : 0);
        longer += std::max(0.0, b->longer);
      }
      if (longer > 0)
        for (OfStep& b : of_b) b.ns = std::max(0.0, b.longer);
    }
    double all = 0;
    for (const OfStep& b : of_b) all += b.ns;
    for (const OfStep& b : of_b) {
      const double share = b.ns / all;
      if (share > 0)
        book({b.step, cost.rank, cost.waiting, cost.computing_ns * share, 0,
              cost.longer_ns * share});
    }
  }

  struct OfStep {
    int64_t step;
    double ns, longer;
  };

  // How long a rank computed in each step between two moments, of which the later one is in
  // `last_step`.
  std::vector<OfStep>& computed_by_step(int32_t rank, int64_t from, int64_t until,
                                        int64_t last_step, std::vector<OfStep>* found) const {
    const std::vector<Call>& calls = timeline_.calls(rank);
    found->clear();
    size_t k = timeline_.first_call_after(rank, from);
    for (int64_t begin = from; begin < until;) {
      const int64_t step = k < calls.size() ? calls[k].step : last_step;
      while (k < calls.size() && calls[k].step == step && calls[k].end < until) ++k;
      const bool goes_on = k < calls.size() && calls[k].step != step;
      const int64_t end = goes_on ? calls[k - 1].end : until;
      found->push_back({step, timeline_.spent(rank, begin, end).computing, 0});
      begin = end;
    }
    return *found;
  }

  // To the states in which B waited in that time, in proportion. False: all of them are visited.
  bool pass_on(int32_t b, int64_t from, int64_t until, double ns) {
    const size_t first = timeline_.first_call_after(b, from);
    size_t behind = timeline_.first_call_after(b, until);
    behind = std::min(behind, reached_[size_t(b)]);
    if (first >= behind) return false;
    const std::vector<Call>& calls = timeline_.calls(b);
    double waited = 0;
    if (behind - first <= kFew) {
      for (size_t k = first; k < behind; ++k) waited += calls[k].waited;
    } else {
      waited = timeline_.spent(b, calls[first].begin, calls[behind - 1].end).waiting;
    }
    if (waited <= 0) return false;
    rates_[size_t(b)][behind - 1] += ns / waited;
    if (first > 0) rates_[size_t(b)][first - 1] -= ns / waited;
    return true;
  }

  int64_t begin_of(int32_t rank, int64_t step) const {
    const std::vector<Call>& calls = timeline_.calls(rank);
    const auto at = std::lower_bound(calls.begin(), calls.end(), step,
                                     [](const Call& c, int64_t s) { return c.step < s; });
    return at == calls.begin() ? timeline_.extent(rank).first : std::prev(at)->end;
  }

  void book(const Cost& cost) {
    const auto [at, is_new] = booked_.try_emplace({cost.step, cost.rank, cost.waiting}, cost);
    if (is_new) return;
    at->second.computing_ns += cost.computing_ns;
    at->second.communicating_ns += cost.communicating_ns;
    at->second.longer_ns += cost.longer_ns;
  }

  static constexpr size_t kFew = 64;
  const Event* events_;
  const State* states_;
  const Timeline& timeline_;
  const int64_t most_steps_;
  // Of each rank and call: where the rate of passing on changes, from this call back to the first.
  std::vector<std::vector<double>> rates_;
  std::vector<double> running_;  // the rate at the call that was visited last
  std::vector<size_t> reached_;  // ... and which that is
  std::map<std::tuple<int64_t, int32_t, int32_t>, Cost> booked_;
  std::vector<OfStep> of_a_, of_b_;
};

}  // namespace

DelayCosts delay_costs(const Event* events, const State* states, size_t n_states,
                       const Timeline& timeline, int64_t most_steps) {
  DelayCosts found;
  std::vector<Visited> order;
  for (int32_t rank = 0; rank < timeline.n_ranks(); ++rank) {
    const std::vector<Call>& calls = timeline.calls(rank);
    for (size_t k = 0; k < calls.size(); ++k)
      if (calls[k].state >= 0 && calls[k].waited > 0)
        order.push_back(
            {later(calls[k].begin, int64_t(calls[k].waited)), k, size_t(calls[k].state)});
  }
  double visited = 0, all = 0;
  for (size_t i = 0; i < n_states; ++i)
    if (states[i].exactness != kUncertain) all += states[i].time_ns;
  std::sort(order.begin(), order.end(), [&](const Visited& a, const Visited& b) {
    const int32_t rank_a = states[a.state].rank, rank_b = states[b.state].rank;
    return std::tie(b.end, rank_a, b.call) < std::tie(a.end, rank_b, a.call);
  });
  Booking booking(events, states, timeline, std::max<int64_t>(1, most_steps));
  for (const Visited& each : order) {
    visited += timeline.calls(states[each.state].rank)[each.call].waited;
    booking.visit(each);
  }
  found.costs = booking.costs();
  found.unbooked_ns = std::max(0.0, all - visited);
  return found;
}

}  // namespace perfield::waits
