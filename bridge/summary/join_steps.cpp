// SPDX-License-Identifier: BSD-3-Clause
//
// join_steps.cpp - joins the step entries of ranks into frames, so that the summary compares ranks
// over the same steps. fields/frames.hpp defines a frame.
#include <algorithm>
#include <cmath>

#include "fields/frames.hpp"
#include "summary/totals.hpp"

namespace perfield {
namespace {

uint64_t index_of(uint64_t key) { return key & kIndexOfKey; }

// Of each entry's last step, the last step of its frame; without those that stay.
std::unordered_map<uint64_t, uint64_t> moved(const std::vector<EntryStep>& entries) {
  std::vector<uint64_t> last;
  std::vector<uint32_t> span;
  for (const EntryStep& entry : entries) {
    last.push_back(index_of(entry.step));
    span.push_back(entry.span);
  }
  const Frames frames = join_entries(last.data(), span.data(), last.size());
  std::unordered_map<uint64_t, uint64_t> to;
  for (size_t n = 0; n < last.size(); ++n) {
    const uint64_t end = frames.last[frames.of_entry[n]];
    if (end != last[n]) to[last[n]] = end;
  }
  return to;
}

template <class Row>
void move_rows(const std::unordered_map<uint64_t, uint64_t>& to, std::vector<Row>* rows) {
  for (Row& row : *rows) {
    const auto found = to.find(index_of(row.step));
    if (found != to.end()) row.step = found->second | (row.step & ~kIndexOfKey);
  }
}

// Adds up rows of a rank in a step, in the order of its entries.
template <class Row, class Add>
void add_up(std::vector<Row>* rows, Add add) {
  const auto key = [](const Row& row) { return std::pair(row.step, row.rank); };
  std::stable_sort(rows->begin(), rows->end(),
                   [key](const Row& a, const Row& b) { return key(a) < key(b); });
  size_t n = 0;
  for (size_t row = 0; row < rows->size(); ++row) {
    if (n > 0 && key((*rows)[n - 1]) == key((*rows)[row]))
      add((*rows)[row], &(*rows)[n - 1]);
    else
      (*rows)[n++] = (*rows)[row];
  }
  rows->resize(n);
}

void add_entry_step(const EntryStep& next, EntryStep* sum) {
  sum->label = next.label;
  sum->time = next.time;
  sum->measured_ns += next.measured_ns;
  sum->written_bytes += next.written_bytes;
  sum->span += next.span;
}

void add_rank_step(const RankStep& next, RankStep* sum) {
  const RankStep before = *sum;
  *sum = next;
  sum->span += before.span;
  for (float RankStep::*time :
       {&RankStep::measured_ns, &RankStep::compute_ns, &RankStep::compute_cpu_ns, &RankStep::mpi_ns,
        &RankStep::waiting_ns, &RankStep::file_ns, &RankStep::sent_bytes})
    sum->*time += before.*time;
}

}  // namespace

void StepNumbers::add(int32_t its_rank, int64_t its_label, double its_time) {
  constexpr double kSame = 1e-9;  // as a share of the time
  if (!n_ranks++) {
    rank = its_rank;
    label = its_label;
    time = its_time;
    same_time = !std::isnan(time);
    return;
  }
  same_time &= std::fabs(its_time - time) <= kSame * std::fabs(time);  // false for NaN
  if (its_label == label || other_rank >= 0) return;
  other_rank = its_rank;
  other_label = its_label;
}

void Totals::join() {
  const auto to = moved(entries);
  const bool any_parts = std::any_of(entries.begin(), entries.end(),
                                     [](const EntryStep& entry) { return entry.span == 0; });
  if (!to.empty() || any_parts) {
    move_rows(to, &entries);
    move_rows(to, &rank_steps);
    move_rows(to, &region_steps);
    move_rows(to, &waited_steps);
    add_up(&entries, add_entry_step);
    add_up(&rank_steps, add_rank_step);
  }
  std::unordered_map<uint64_t, double> bytes;
  for (const EntryStep& entry : entries) {
    numbers[entry.step].add(entry.rank, entry.label, entry.time);
    uint32_t& span = spans[entry.step];
    span = std::max({span, entry.span, 1u});
    double& longest = lengths[entry.step];
    longest = std::max(longest, entry.measured_ns / std::max(1.0, double(entry.span)));
    bytes[entry.step] += entry.written_bytes;
  }
  for (const auto& [step, sum] : bytes) written[step] = sum / double(spans[step]);
  entries = {};
}

}  // namespace perfield
