// SPDX-License-Identifier: BSD-3-Clause
//
// timeline.cpp - see timeline.hpp.
#include "waits/timeline.hpp"

#include <algorithm>
#include <tuple>

#include "waits/collectives.hpp"
#include "waits/messages.hpp"
#include "waits/sorting.hpp"

namespace perfield::waits {
namespace {

constexpr int kLookedBack = 16;  // meetings of a pair that are tried before it counts as never met

bool is_single(const Event& event) { return event.count == 1 && !(event.flags & kMean); }

// A call with the events that it blocked for and that follow one another.
struct CallOfEvents {
  Call call;
  int32_t rank;
  size_t first, n;
  bool goes_on_with(const CallOfEvents& next) const {
    return rank == next.rank && call.begin == next.call.begin && call.end == next.call.end &&
           call.step == next.call.step && first + n == next.first;
  }
  bool operator<(const CallOfEvents& other) const {
    return std::tie(rank, call.end, call.begin, first) <
           std::tie(other.rank, other.call.end, other.call.begin, other.first);
  }
};

// Whether ranks leave it only after all have entered it.
bool gathers_all(uint16_t call) { return collective_of(call).pattern == Pattern::kAllToAll; }

}  // namespace

Timeline::Timeline(const Event* events, size_t n_events, const State* states, size_t n_states) {
  int32_t ranks = 0;
  for (size_t i = 0; i < n_events; ++i) ranks = std::max(ranks, events[i].rank + 1);
  ranks_.resize(size_t(ranks));
  gatherings_.resize(size_t(ranks));
  call_of_.assign(n_events, -1);
  send_of_.assign(n_events, -1);
  operation_of_.assign(n_events, -1);
  add_calls(events, n_events, states, n_states);
  add_messages(events, n_events);
  add_collectives(events, n_events);
}

void Timeline::add_calls(const Event* events, size_t n_events, const State* states,
                         size_t n_states) {
  Arena arena;
  ArenaVector<CallOfEvents> found(arena);
  for (size_t i = 0; i < n_events; ++i) {
    const Event& e = events[i];
    if (e.rank < 0 || !is_of_one_call(e)) continue;
    if (has_wait(e)) {
      const CallOfEvents call = {{e.wait_begin, e.wait_end, e.step, 0, -1}, e.rank, i, 1};
      if (!found.empty() && found.back().goes_on_with(call))
        ++found.back().n;
      else
        found.push_back(call);
    }
    // What begins without blocking still shows in which step the rank was: a call of no length.
    if (e.begun != kUnknown && e.begun != e.wait_begin)
      found.push_back({{e.begun, e.begun, e.step, 0, -1}, e.rank, i, 0});
  }
  sort_by_ranks(found, ranks_.size(), arena);
  for (const CallOfEvents& one : found) {
    std::vector<Call>& calls = ranks_[size_t(one.rank)].calls;
    if (calls.empty() || calls.back().begin != one.call.begin || calls.back().end != one.call.end)
      calls.push_back(one.call);
    calls.back().step = std::max(calls.back().step, one.call.step);
    for (size_t i = 0; i < one.n; ++i) call_of_[one.first + i] = int64_t(calls.size()) - 1;
  }
  for (size_t i = 0; i < n_states; ++i) {
    const State& s = states[i];
    if (s.exactness != kExact || s.cause < 0 || s.event < 0 || size_t(s.event) >= n_events ||
        call_of_[size_t(s.event)] < 0)
      continue;
    Call& call = ranks_[size_t(s.rank)].calls[size_t(call_of_[size_t(s.event)])];
    call.waited = std::min(s.time_ns, double(difference(call.end, call.begin)));
    call.state = int64_t(i);
  }
  for (OfRank& r : ranks_) {
    r.computed.reserve(r.calls.size() + 1);
    double computed = 0, waited = 0, communicated = 0;
    if (!r.calls.empty()) r.begin = r.end = r.calls.front().begin;
    for (Call& c : r.calls) {
      // Calls of threads may overlap; the later one then begins where the earlier one has ended.
      c.begin = std::max(c.begin, r.end);
      computed += double(difference(c.begin, r.end));
      r.computed.push_back(computed);
      r.waited.push_back(waited);
      r.communicated.push_back(communicated);
      c.waited = std::min(c.waited, double(difference(c.end, c.begin)));
      waited += c.waited;
      communicated += double(difference(c.end, c.begin)) - c.waited;
      r.end = c.end;
    }
    r.computed.push_back(computed);
    r.waited.push_back(waited);
    r.communicated.push_back(communicated);
  }
}

size_t Timeline::first_call_after(int32_t rank, int64_t time) const {
  const std::vector<Call>& calls = ranks_[size_t(rank)].calls;
  return size_t(std::upper_bound(calls.begin(), calls.end(), time,
                                 [](int64_t t, const Call& c) { return t < c.end; }) -
                calls.begin());
}

int64_t Timeline::step_at(int32_t rank, int64_t time) const {
  const std::vector<Call>& calls = ranks_[size_t(rank)].calls;
  if (calls.empty()) return -1;
  return calls[std::min(first_call_after(rank, time), calls.size() - 1)].step;
}

std::pair<int64_t, int64_t> Timeline::extent(int32_t rank) const {
  return {ranks_[size_t(rank)].begin, ranks_[size_t(rank)].end};
}

// From the rank's begin. Inside a call, waiting comes first.
Spent Timeline::until(int32_t rank, int64_t time) const {
  const OfRank& r = ranks_[size_t(rank)];
  time = std::min(std::max(time, r.begin), r.end);
  const size_t k = first_call_after(rank, time);
  Spent s{r.computed[k], r.waited[k], r.communicated[k]};
  if (k == r.calls.size()) return s;
  const Call& c = r.calls[k];
  if (time < c.begin) {
    s.computing -= double(difference(c.begin, time));
  } else {
    const double inside = double(difference(time, c.begin));
    s.waiting += std::min(inside, c.waited);
    s.communicating += std::max(0.0, inside - c.waited);
  }
  return s;
}

Spent Timeline::spent(int32_t rank, int64_t begin, int64_t end) const {
  if (end <= begin) return {};
  const Spent before = until(rank, begin), after = until(rank, end);
  return {after.computing - before.computing, after.waiting - before.waiting,
          after.communicating - before.communicating};
}

void Timeline::add_messages(const Event* events, size_t n_events) {
  struct Ends {
    int64_t send = -1, receive = -1;
  };
  Arena arena;
  MessageTable<Ends> messages(arena);
  for (size_t i = 0; i < n_events; ++i) {
    const Event& e = events[i];
    const EventKind end = end_of(e);
    if (end == kCollective || !e.number || !e.channel || e.rank < 0 || e.peer < 0 ||
        e.peer == e.rank || e.peer >= n_ranks() || !(end == kSend || is_of_one_call(e)))
      continue;
    Ends& ends = messages.of(e);
    if (end == kSend)
      ends.send = int64_t(i);
    else if (ends.receive < 0)
      ends.receive = int64_t(i);
  }
  for (size_t i = 0; i < n_events; ++i) {
    const Event& e = events[i];
    if (!is_of_probe(e) || !e.number || !e.channel || !is_single(e) || e.rank < 0 || e.peer < 0 ||
        e.peer == e.rank || e.peer >= n_ranks())
      continue;
    const int64_t send = messages.of(e).send;
    if (send >= 0 && events[send].begun != kUnknown) send_of_[i] = send;
  }
  messages.for_each([&](const Ends& ends) {
    if (ends.send < 0 || ends.receive < 0) return;
    const Event &send = events[ends.send], &receive = events[ends.receive];
    if (send.begun == kUnknown || !has_wait(receive) || send.count != receive.count) return;
    send_of_[size_t(ends.receive)] = ends.send;
    if (send.rank < receive.rank)
      meetings_.push_back({send.rank, receive.rank, send.begun, receive.wait_end});
    else
      meetings_.push_back({receive.rank, send.rank, receive.wait_end, send.begun});
  });
  std::sort(meetings_.begin(), meetings_.end(), [](const Meeting& a, const Meeting& b) {
    return std::tie(a.low, a.high, a.at_low, a.at_high) <
           std::tie(b.low, b.high, b.at_low, b.at_high);
  });
}

void Timeline::add_collectives(const Event* events, size_t n_events) {
  std::vector<std::tuple<uint32_t, uint32_t, size_t>> members;
  for (size_t i = 0; i < n_events; ++i) {
    const Event& e = events[i];
    if (e.kind != kCollective || !e.channel || !e.number || !is_single(e) || e.rank < 0) continue;
    members.emplace_back(e.channel, e.number, i);
    if (has_wait(e) && gathers_all(e.call))
      gatherings_[size_t(e.rank)].push_back({e.channel, e.number, e.wait_end});
  }
  std::sort(members.begin(), members.end());
  for (size_t k = 0, first = 0; k < members.size(); ++k) {
    const auto& [communicator, number, i] = members[k];
    if (communicator != std::get<0>(members[first]) || number != std::get<1>(members[first]))
      first = k;
    operation_of_[i] = int64_t(std::get<2>(members[first]));
  }
  for (auto& of_rank : gatherings_)
    std::sort(of_rank.begin(), of_rank.end(), [](const Gathering& a, const Gathering& b) {
      return std::tie(a.end, a.communicator, a.number) < std::tie(b.end, b.communicator, b.number);
    });
}

bool Timeline::last_met(int32_t a, int64_t before_a, int32_t b, int64_t before_b, int64_t* at_a,
                        int64_t* at_b) const {
  bool found = false;
  // Each end counts for itself: of an exchange, one message ends late at one rank, and the other at
  // the other.
  const auto met = [&](int64_t time_a, int64_t time_b) {
    if (time_a > before_a || time_b > before_b) return false;
    *at_a = found ? std::max(*at_a, time_a) : time_a;
    *at_b = found ? std::max(*at_b, time_b) : time_b;
    found = true;
    return true;
  };
  const bool is_low = a < b;
  const int32_t low = std::min(a, b), high = std::max(a, b);
  auto m = std::lower_bound(
      meetings_.begin(), meetings_.end(), std::make_tuple(low, high, is_low ? before_a : before_b),
      [](const Meeting& of, const std::tuple<int32_t, int32_t, int64_t>& key) {
        return std::tie(of.low, of.high, of.at_low) < key;
      });
  int met_by_message = 0;
  for (int looked = 0; looked < kLookedBack && m != meetings_.begin() && met_by_message < 2;
       ++looked) {
    --m;
    if (m->low != low || m->high != high) break;
    met_by_message += met(is_low ? m->at_low : m->at_high, is_low ? m->at_high : m->at_low);
  }
  const auto &of_a = gatherings_[size_t(a)], &of_b = gatherings_[size_t(b)];
  const auto ended_before = [](const std::vector<Gathering>& list, int64_t time) {
    return std::upper_bound(list.begin(), list.end(), time,
                            [](int64_t t, const Gathering& g) { return t < g.end; });
  };
  auto at = ended_before(of_a, before_a);
  const auto last_b = ended_before(of_b, before_b);
  for (int looked = 0; looked < kLookedBack && at != of_a.begin(); ++looked) {
    --at;
    if (found && at->end <= *at_a && (last_b == of_b.begin() || std::prev(last_b)->end <= *at_b))
      break;
    const auto first_b = of_b.begin();
    auto other = last_b;
    for (int k = 0; k < kLookedBack && other != first_b; ++k) {
      --other;
      if (other->communicator == at->communicator && other->number == at->number) {
        met(at->end, other->end);
        return true;
      }
    }
  }
  return found;
}

}  // namespace perfield::waits
