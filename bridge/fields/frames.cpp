// SPDX-License-Identifier: BSD-3-Clause
//
// frames.cpp - see frames.hpp. Walks over the entries from the last one back: an entry that ends
// before all steps met so far begins an earlier frame.
#include "fields/frames.hpp"

#include <algorithm>
#include <numeric>

namespace perfield {
namespace {

// The steps of one entry, as far as other entries must not cross them.
struct Steps {
  uint64_t first, last;  // measured
  uint64_t low, high;    // reserved

  Steps(uint64_t index, uint32_t span, uint64_t at_least)
      : first(index - std::min<uint64_t>(std::max(1u, span) - 1, index)),
        last(index),
        low(first / at_least * at_least),
        high(std::max(last, last / at_least * at_least + (at_least - 1))) {}
};

}  // namespace

Frames join_entries(const uint64_t* index, const uint32_t* span, size_t n, uint64_t at_least) {
  at_least = std::max<uint64_t>(1, at_least);
  Frames frames;
  frames.of_entry.resize(n);
  std::vector<size_t> order;
  if (!std::is_sorted(index, index + n)) {
    order.resize(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [index](size_t a, size_t b) { return index[a] < index[b]; });
  }
  uint64_t low = 0;
  for (size_t left = n; left-- > 0;) {
    const size_t entry = order.empty() ? left : order[left];
    const Steps steps(index[entry], span[entry], at_least);
    if (frames.first.empty() || steps.high < low) {
      frames.first.push_back(steps.first);
      frames.last.push_back(steps.last);
      low = steps.low;
    }
    low = std::min(low, steps.low);
    frames.first.back() = std::min(frames.first.back(), steps.first);
    frames.of_entry[entry] = uint32_t(frames.first.size() - 1);
  }
  std::reverse(frames.first.begin(), frames.first.end());
  std::reverse(frames.last.begin(), frames.last.end());
  for (uint32_t& frame : frames.of_entry) frame = uint32_t(frames.first.size() - 1) - frame;
  return frames;
}

void add_entry(const StepBody& next, StepBody* sum) {
  const StepBody before = *sum;
  *sum = next;
  sum->span += before.span;
  sum->flags = uint16_t(next.flags | before.flags);
  sum->begin_ns = std::min(next.begin_ns, before.begin_ns);
  sum->end_ns = std::max(next.end_ns, before.end_ns);
  for (uint64_t StepBody::*count :
       {&StepBody::measured_ns, &StepBody::perfield_ns, &StepBody::cpu_user_ns,
        &StepBody::cpu_system_ns, &StepBody::voluntary_switches, &StepBody::involuntary_switches,
        &StepBody::minor_faults, &StepBody::major_faults, &StepBody::faults, &StepBody::overflowed})
    sum->*count += before.*count;
}

}  // namespace perfield
