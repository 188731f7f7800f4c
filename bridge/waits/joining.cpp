// SPDX-License-Identifier: BSD-3-Clause
//
// joining.cpp - see joining.hpp.
#include "waits/joining.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>

namespace perfield::waits {
namespace {

StepOfRank step_of(const FoundState& one) { return {one.state.step, one.state.rank}; }
StepOfRank step_of(const RowBound& one) { return {one.state.step, one.state.rank}; }
StepOfRank step_of(const Cover& one) { return {one.covered.step, one.covered.rank}; }

bool before(const State& a, const State& b) {
  return std::tie(a.step, a.rank, a.event) < std::tie(b.step, b.rank, b.event);
}

// Those of one rank's step in a sorted list.
template <typename T>
struct Part {
  const T* first;
  const T* last;
  const T* begin() const { return first; }
  const T* end() const { return last; }
};

// The part of a sorted list that begins at `next`, which moves behind it.
template <typename T>
Part<T> take_part(const std::vector<T>& list, size_t& next, const StepOfRank& step) {
  const T* const first = list.data() + next;
  while (next < list.size() && step_of(list[next]) == step) ++next;
  return {first, list.data() + next};
}

// The step of the next in a sorted list; behind all of them at its end.
template <typename T>
StepOfRank step_at(const std::vector<T>& list, size_t next) {
  if (next < list.size()) return step_of(list[next]);
  return {std::numeric_limits<int64_t>::max(), std::numeric_limits<int32_t>::max()};
}

void add(Cover& sum, const Cover& part) {
  for (int sharing = 0; sharing < kSharings; ++sharing)
    sum.shareable_ns[sharing] += part.shareable_ns[sharing];
  sum.covered.blocked_ns += part.covered.blocked_ns;
  sum.covered.exact_ns += part.covered.exact_ns;
  sum.covered.bounded_ns += part.covered.bounded_ns;
  sum.covered.uncertain_ns += part.covered.uncertain_ns;
  for (size_t gap = 0; gap < kGaps; ++gap) sum.covered.gap_ns[gap] += part.covered.gap_ns[gap];
}

// So much of what is not explained is known to be waiting: of what sums hide, then of all else.
void explain(Covered& covered, double ns) {
  for (double* part = covered.gap_ns + kGaps; part-- != covered.gap_ns && ns > 0;) {
    const double taken = std::min(ns, *part);
    *part -= taken;
    covered.bounded_ns += taken;
    ns -= taken;
  }
}

// Of rows that bound the same time the lower kind and cause counts, in whatever order they come.
bool is_longer(const State& one, const State& other) {
  return std::tie(other.time_ns, one.kind, one.cause) <
         std::tie(one.time_ns, other.kind, other.cause);
}

// Rows that may have shared a call bound the same time, so only the largest of them counts, and
// only if it exceeds what is known of single calls.
void join_shared(Sharing sharing, const Part<FoundState>& found, const Part<RowBound>& rows,
                 Cover& sum, std::vector<State>& states) {
  const RowBound* most_bound = nullptr;
  const RowBound* longest = nullptr;
  bool is_any_paired = false;
  for (const RowBound& row : rows) {
    if (row.sharing != sharing) continue;
    if (row.state_may_overlap && (!most_bound || is_longer(row.state, most_bound->state)))
      most_bound = &row;
    if (!row.may_overlap) continue;
    if (!longest || row.blocked_ns > longest->blocked_ns) longest = &row;
    is_any_paired = is_any_paired || row.is_paired;
  }
  const auto is_of_these = [&](const FoundState& one) {
    return one.may_overlap && one.sharing == sharing;
  };
  double known = 0;
  for (const FoundState& one : found)
    if (is_of_these(one) && one.state.exactness != kUncertain) known += one.state.time_ns;
  const bool use_row = most_bound && most_bound->state.time_ns > known;
  for (const FoundState& one : found)
    if (is_of_these(one) && !use_row) states.push_back(one.state);
  if (longest) {
    const double more = std::max(0.0, longest->blocked_ns - sum.shareable_ns[sharing]);
    sum.covered.blocked_ns += more;
    sum.covered.gap_ns[is_any_paired ? kOnlySums : longest->gap] += more;
  }
  if (!use_row) return;
  states.push_back(most_bound->state);
  explain(sum.covered, most_bound->state.time_ns - known);
}

// The invariant of all sums of waiting: a rank waits no longer than it was blocked. It follows
// from how states are found; where it did not hold, all of them would be too long.
void keep_within(double blocked_ns, State* first, State* last) {
  double waited = 0;
  for (const State* state = first; state != last; ++state)
    if (state->exactness != kUncertain) waited += state->time_ns;
  constexpr double kRounding = 1e-9;
  if (waited <= blocked_ns * (1 + kRounding)) return;
  for (State* state = first; state != last; ++state) state->time_ns *= blocked_ns / waited;
}

// One rank's step: appends its states, and adds to what calls cover what rows do.
void join_step(const Part<FoundState>& found, const Part<RowBound>& rows, Cover& sum,
               std::vector<State>& states) {
  const size_t first_state = states.size();
  for (const FoundState& one : found)
    if (!one.may_overlap) states.push_back(one.state);
  for (const RowBound& row : rows) {
    if (!row.may_overlap) {
      sum.covered.blocked_ns += row.blocked_ns;
      sum.covered.gap_ns[row.is_paired ? kOnlySums : row.gap] += row.blocked_ns;
    }
    if (row.state_may_overlap || row.state.time_ns <= 0) continue;
    states.push_back(row.state);
    explain(sum.covered, row.state.time_ns);
  }
  for (const Sharing sharing : {kAmongMessages, kAmongPartners})
    join_shared(sharing, found, rows, sum, states);
  std::sort(states.begin() + std::ptrdiff_t(first_state), states.end(), before);
  keep_within(sum.covered.blocked_ns, states.data() + first_state, states.data() + states.size());
}

}  // namespace

WaitStates join(std::vector<FoundState>& found, std::vector<RowBound>& rows,
                std::vector<Cover>& covers) {
  const auto in_order = [](const auto& a, const auto& b) { return before(a.state, b.state); };
  std::sort(found.begin(), found.end(), in_order);
  std::sort(rows.begin(), rows.end(), in_order);
  std::sort(covers.begin(), covers.end(),
            [](const Cover& a, const Cover& b) { return step_of(a) < step_of(b); });
  WaitStates result;
  result.states.reserve(found.size());
  size_t next_found = 0, next_row = 0, next_cover = 0;
  while (next_row < rows.size() || next_cover < covers.size()) {
    const StepOfRank step = std::min(step_at(rows, next_row), step_at(covers, next_cover));
    Cover sum{};
    std::tie(sum.covered.step, sum.covered.rank) = step;
    for (const Cover& part : take_part(covers, next_cover, step)) add(sum, part);
    const Part<FoundState> of_calls = take_part(found, next_found, step);
    join_step(of_calls, take_part(rows, next_row, step), sum, result.states);
    result.covered.push_back(sum.covered);
  }
  return result;
}

}  // namespace perfield::waits
