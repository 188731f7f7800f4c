// SPDX-License-Identifier: BSD-3-Clause
//
// uneven_steps.cpp - see uneven_steps.hpp.
#include "summary/uneven_steps.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "summary/text.hpp"

namespace perfield {

std::string uneven_steps_text(const RunTotals& run) {
  constexpr size_t kMostNumbers = 3;
  if (run.steps_by_clock || run.closed_at_end.size() < run.group.size()) return "";
  std::map<uint64_t, std::map<uint64_t, std::vector<int32_t>>> ranks_of;  // by group and number
  for (const auto& [rank, steps] : run.closed_at_end)
    if (const auto group = run.group.find(rank); group != run.group.end())
      ranks_of[group->second][steps].push_back(rank);
  for (const auto& [group, by_number] : ranks_of) {
    if (by_number.size() < 2) continue;
    std::vector<std::pair<uint64_t, std::vector<int32_t>>> order(by_number.rbegin(),
                                                                 by_number.rend());
    std::string text = "; ranks closed different numbers, so steps of one index differ: ";
    for (size_t i = 0; i < std::min(order.size(), kMostNumbers); ++i) {
      const auto& [steps, ranks] = order[i];
      text +=
          (i ? ", " : "") +
          (ranks.size() == 1 ? "rank " + std::to_string(ranks[0]) : plural(ranks.size(), "rank")) +
          " " + text_of_count(steps);
    }
    return text + (order.size() > kMostNumbers ? ", ..." : "");
  }
  return "";
}

}  // namespace perfield
