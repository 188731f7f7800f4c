// SPDX-License-Identifier: BSD-3-Clause
//
// arrivals.cpp - see arrivals.hpp. perfield.derived.waits does the same for whole runs.
#include "summary/arrivals.hpp"

#include <algorithm>

#include "format/decode_json.hpp"
#include "format/events.hpp"

namespace perfield {
namespace {

constexpr int64_t kMostMembers = int64_t{1} << 24;  // larger sizes are damaged

bool is_row(const waits::Event& event) { return event.flags & (waits::kSingle | waits::kMean); }

}  // namespace

void Arrivals::add_communicator(uint32_t name, int32_t rank, const std::string& body) {
  const int64_t size = json_integer(body, "size", -1), place = json_integer(body, "rank", -1);
  if (name && rank >= 0 && place >= 0 && place < size && size <= kMostMembers)
    communicators_[name].insert({place, rank, size});
}

void Arrivals::add_step(int32_t rank, int64_t index, const StepView& step) {
  if (index < from_ || rank < 0) return;
  const size_t before = events_.size();
  waits::add_rows(step, index, rank, {0, 0}, &events_);
  if (step.fixed.span > 1)
    for (size_t at = before; at < events_.size(); ++at) events_[at].flags |= waits::kSeveralSteps;
  steps_[index].n_events += events_.size() - before;
  steps_[index].measured_ns += double(step.fixed.measured_ns);
  make_room();
}

void Arrivals::add_log(int32_t rank, int64_t index, const unsigned char* body, size_t bytes) {
  EventsStart start;
  std::vector<LoggedEvent> logged;
  if (index < from_ || rank < 0 || !unpack_events(body, bytes, &start, &logged)) return;
  logs_[{index, rank}].add(start);
  waits::add_logged(logged, index, rank, {0, 0}, &events_);
  steps_[index].n_events += logged.size();
  make_room();
}

void Arrivals::make_room() {
  if (events_.size() <= kMostEvents) return;
  size_t kept = 0;
  auto step = steps_.end();
  while (step != steps_.begin() && kept + std::prev(step)->second.n_events <= kMostEvents / 2)
    kept += (--step)->second.n_events;
  from_ = step == steps_.end() ? std::prev(step)->first + 1 : step->first;
  steps_.erase(steps_.begin(), step);
  events_.erase(std::remove_if(events_.begin(), events_.end(),
                               [&](const waits::Event& event) { return event.step < from_; }),
                events_.end());
  logs_.erase(logs_.begin(), logs_.lower_bound({from_, -1}));
  is_all_ = false;
}

void Arrivals::sort_out() {
  const auto is_in_log = [&](waits::Event& event) {
    if (!is_row(event)) return false;
    const bool is_longer = event.flags & waits::kSeveralSteps;
    const auto log = is_longer ? logs_.end() : logs_.find({event.step, event.rank});
    if (log != logs_.end()) log->second.is_used = true;
    return log != logs_.end();
  };
  const auto is_in_rows = [&](waits::Event& event) {
    if (is_row(event)) return false;
    const Log& log = logs_[{event.step, event.rank}];
    if (!log.is_whole()) event.flags |= waits::kOverflow;
    return !log.is_used;
  };
  waits::Events kept;
  for (waits::Event& event : events_)
    if (!is_in_log(event)) kept.push_back(event);
  events_.clear();
  for (waits::Event& event : kept)
    if (!is_in_rows(event)) events_.push_back(event);
}

void Arrivals::take_sizes() {
  std::map<uint32_t, uint32_t> sizes;  // 0: several communicators of one name
  for (const auto& [name, rows] : communicators_) {
    int64_t size = 0;
    std::map<int64_t, int64_t> rank_at, place_of;
    for (const Described& row : rows) size = std::max(size, row.size);
    bool clashes = false;
    for (const Described& row : rows) {
      clashes |= row.size != size;
      clashes |= size > 1 && rank_at.emplace(row.place, row.rank).first->second != row.rank;
      clashes |= place_of.emplace(row.rank, row.place).first->second != row.place;
    }
    if (size > 1 || clashes) sizes[name] = clashes ? 0 : uint32_t(size);
  }
  for (waits::Event& event : events_) {
    if (event.kind != waits::kCollective) continue;
    const auto found = sizes.find(event.channel);
    if (found == sizes.end()) continue;
    event.size = found->second;
    if (!found->second) event.channel = event.number = 0;
  }
}

FoundWaiting Arrivals::find() {
  FoundWaiting found;
  sort_out();
  take_sizes();
  size_t n_ranks = 0;
  for (const waits::Event& event : events_) n_ranks = std::max(n_ranks, size_t(event.rank) + 1);
  std::vector<int64_t> last(n_ranks, 0);
  for (const waits::Event& event : events_)
    last[size_t(event.rank)] = std::max(last[size_t(event.rank)], event.wait_end);
  const RankClocks::Joined joined = clocks_.join(n_ranks, last);
  for (waits::Event& event : events_)
    for (int64_t waits::Event::*stamp :
         {&waits::Event::begun, &waits::Event::wait_begin, &waits::Event::wait_end})
      if (event.*stamp != waits::kUnknown)
        event.*stamp = joined.clock[size_t(event.rank)].common(event.*stamp);

  const waits::WaitStates states = waits::find_wait_states(
      events_.data(), events_.size(), {n_ranks, joined.uncertainty_ns.data(), joined.node.data()});
  for (const waits::State& state : states.states) {
    if (state.exactness == waits::kUncertain) continue;
    found.waiting_ns += state.time_ns;
    found.by_kind[state.kind] += state.time_ns;
    if (state.cause < 0) continue;
    found.by_pair[state.kind][{state.cause, state.rank}] += state.time_ns;
    // Along means nothing can be followed.
    if (state.exactness == waits::kBound)
      found.caused.push_back(
          {{state.step, state.cause, state.rank, state.time_ns, 0, state.time_ns}, false});
  }
  for (const waits::Covered& covered : states.covered) {
    found.blocked_ns += covered.blocked_ns;
    found.exact_ns += covered.exact_ns;
    found.bounded_ns += covered.bounded_ns;
    found.hidden_ns += covered.uncertain_ns;
    for (const double gap : covered.gap_ns) found.hidden_ns += gap;
  }
  const waits::Timeline timeline(events_.data(), events_.size(), states.states.data(),
                                 states.states.size());
  const waits::DelayCosts costs = waits::delay_costs(events_.data(), states.states.data(),
                                                     states.states.size(), timeline, kFollowed);
  for (const waits::Cost& cost : costs.costs) found.caused.push_back({cost, true});
  for (const CausedWaiting& caused : found.caused) found.caused_ns += caused.ns();
  for (const auto& [step, of_step] : steps_) found.measured_ns += of_step.measured_ns;
  found.n_steps = steps_.size();
  found.is_all = is_all_;
  return found;
}

}  // namespace perfield
