// SPDX-License-Identifier: BSD-3-Clause
//
// delay_regions.cpp - see delay_regions.hpp. perfield.derived.by_region does the same for whole
// runs.
#include "summary/delay_regions.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "summary/totals.hpp"
#include "waits/divided_costs.hpp"

namespace perfield {
namespace {

struct StepOfRank {
  uint64_t step;
  int32_t rank;
  bool operator==(const StepOfRank& other) const {
    return step == other.step && rank == other.rank;
  }
};

struct Hash {
  size_t operator()(const StepOfRank& of) const {
    return size_t((of.step * 0x9E3779B97F4A7C15u) ^ (uint64_t(uint32_t(of.rank)) << 17));
  }
};

}  // namespace

DelayRegions delay_regions(const RunTotals& run) {
  DelayRegions found;
  if (run.steps.region_steps.empty()) return found;
  const auto step_of = [&](const CausedWaiting& caused) {
    const auto group = run.group.find(caused.cost.rank);
    return (uint64_t(caused.cost.step) & kIndexOfKey) |
           (group == run.group.end() ? 0 : group->second) << kGroupOfKey;
  };
  std::unordered_map<StepOfRank, std::vector<double>, Hash> times;  // ns in each region
  for (const CausedWaiting& caused : run.waiting.caused)
    for (const int32_t rank : {caused.cost.rank, caused.cost.waiting})
      times[{step_of(caused), rank}];

  std::vector<std::string> names;
  std::unordered_map<std::string, size_t> number_of;
  std::unordered_map<uint64_t, size_t> number;  // of a rank's region
  for (const auto& [key, name] : run.region_names) {
    const auto [at, is_new] = number_of.try_emplace(name, names.size());
    if (is_new) names.push_back(name);
    number[key] = at->second;
  }
  const size_t n = names.size() + 1;  // the last: in no region
  for (const RegionStep& row : run.steps.region_steps) {
    const auto at = times.find({row.step, row.rank});
    if (at == times.end()) continue;
    at->second.resize(n);
    const auto region = number.find(region_key(row.rank, row.id));
    if (region != number.end()) at->second[region->second] += double(row.own_ns);
  }
  for (const RankStep& row : run.steps.rank_steps) {
    const auto at = times.find({row.step, row.rank});
    if (at == times.end()) continue;
    std::vector<double>& ns = at->second;
    ns.resize(n);
    double inside = 0;
    for (const double of_region : ns) inside += of_region;
    ns[n - 1] += std::max(0.0, double(row.measured_ns) - double(row.waiting_ns) - inside);
  }
  std::vector<double> parts(n);
  for (const CausedWaiting& caused : run.waiting.caused) {
    const std::vector<double>& own = times[{step_of(caused), caused.cost.rank}];
    const std::vector<double>& waiting = times[{step_of(caused), caused.cost.waiting}];
    if (own.empty() || waiting.empty()) continue;
    std::fill(parts.begin(), parts.end(), 0.0);
    waits::divide_cost(caused.cost, {own.data(), n, 1}, {waiting.data(), n, 1}, caused.is_followed,
                       parts.data());
    for (size_t region = 0; region < n; ++region)
      if (parts[region] > 0)
        found[{caused.cost.rank, region + 1 < n ? names[region] : ""}] += parts[region];
  }
  return found;
}

}  // namespace perfield
