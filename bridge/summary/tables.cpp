// SPDX-License-Identifier: BSD-3-Clause
//
// tables.cpp - see tables.hpp.
#include "summary/tables.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace perfield {
namespace {

constexpr size_t kMostRoom = 64;  // for each row

uint64_t group_of(uint64_t step) { return step >> kGroupOfKey; }

}  // namespace

Tables::Tables(const Totals& totals) : totals_(totals) {
  std::unordered_map<uint64_t, uint32_t> n_ranks;
  for (const RankStep& row : totals.rank_steps) ++n_ranks[row.step];
  uint32_t most = 0;
  uint64_t group = 0;
  for (const auto& [step, n] : n_ranks)
    if (n > most || (n == most && group_of(step) < group)) {
      most = n;
      group = group_of(step);
    }
  std::vector<uint64_t> complete;
  for (const auto& [step, n] : n_ranks)
    if (n == most && group_of(step) == group) complete.push_back(step);
  std::sort(complete.begin(), complete.end());
  for (size_t place = 0; place < complete.size(); ++place) steps_[complete[place]] = place;
  std::set<int32_t> ranks;
  for (const RankStep& row : totals.rank_steps)
    if (steps_.count(row.step)) ranks.insert(row.rank);
  ranks_.assign(ranks.begin(), ranks.end());
  for (size_t column = 0; column < ranks_.size(); ++column) column_[ranks_[column]] = column;
  // Where each rank has other steps than all others, a table would have far more room than rows.
  if (ranks_.size() * steps_.size() > kMostRoom * totals.rank_steps.size()) steps_.clear();
  for (const RankStep& row : totals.rank_steps) places_.push_back(place_of(row.step, row.rank));
}

size_t Tables::place_of(uint64_t step, int32_t rank) const {
  const auto at = steps_.find(step);
  const auto column = column_.find(rank);
  if (at == steps_.end() || column == column_.end()) return kNowhere;
  return at->second * ranks_.size() + column->second;
}

std::vector<int64_t> Tables::labels() const {
  std::vector<int64_t> labels(steps_.size());
  for (size_t row = 0; row < places_.size(); ++row)
    if (places_[row] != kNowhere)
      labels[places_[row] / ranks_.size()] = totals_.rank_steps[row].label;
  return labels;
}

Table Tables::of(float RankStep::*number) const {
  Table table(ranks_.size(), steps_.size());
  for (size_t row = 0; row < places_.size(); ++row) {
    if (places_[row] == kNowhere) continue;
    const float value = totals_.rank_steps[row].*number;
    if (std::isnan(value)) return {};
    table.values[places_[row]] += double(value);
  }
  return table;
}

Table Tables::of_region(const std::vector<const RegionStep*>& rows) const {
  Table table(ranks_.size(), steps_.size());
  for (const RegionStep* row : rows) {
    const size_t place = place_of(row->step, row->rank);
    if (place != kNowhere) table.values[place] += double(row->compute_ns);
  }
  return table;
}

Table Tables::waited_for() const {
  Table table(ranks_.size(), steps_.size());
  for (const WaitedStep& row : totals_.waited_steps) {
    const size_t place = place_of(row.step, row.peer);
    if (place != kNowhere) table.values[place] += double(row.ns);
  }
  return table;
}

}  // namespace perfield
