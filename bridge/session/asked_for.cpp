// SPDX-License-Identifier: BSD-3-Clause
//
// asked_for.cpp - see asked_for.hpp.
#include "session/asked_for.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "configuration/names.hpp"
#include "configuration/selection.hpp"
#include "recorder/passed_functions.hpp"
#include "recorder/recorder.hpp"
#include "session/environment.hpp"

namespace perfield {
namespace {

constexpr size_t kMostKnown = 32;  // names in an end entry

bool fits_any(const std::string& entry, const std::set<std::string>& names) {
  const Selection selection({entry}, "");
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return selection.measures(name); });
}

uint64_t messages_seen(Recorder& r) {
  uint64_t pairs = 0;
  for (int i = 0; i < r.n_profiles(); ++i) pairs += r.profile_at(i).messages.n_pairs();
  return pairs;
}

// At most kMostKnown of the names, those nearest to a wrong one first.
std::vector<std::string> nearest_of(const std::set<std::string>& names,
                                    const std::vector<std::string>& wrong) {
  std::vector<std::pair<size_t, std::string>> order;
  for (const std::string& name : names) {
    size_t fewest = name.size();
    for (const std::string& entry : wrong) fewest = std::min(fewest, edits_between(entry, name));
    order.emplace_back(fewest, name);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> nearest;
  for (size_t n = 0; n < std::min(kMostKnown, order.size()); ++n)
    nearest.push_back(order[n].second);
  return nearest;
}

}  // namespace

void add_asked_for(const Config& config, JsonObject* entry) {
  Recorder& r = recorder();
  std::set<std::string> names;
  uint64_t entered = 0;
  for (uint32_t id = 1; id < r.regions.size(); ++id) {
    names.insert(r.regions[id].name);
    entered += r.is_defined(id);
  }
  entry->natural("regions_entered", entered).natural("messages_seen", messages_seen(r));
  std::vector<std::string> unmatched, not_entered, all = config.regions;
  if (!config.step_region.empty()) all.push_back(config.step_region);
  for (const std::string& asked : all) {
    if (fits_any(asked, names) || asked == "*") continue;
    unmatched.push_back(asked);
    if (passed_functions().has(asked)) not_entered.push_back(asked);
  }
  if (unmatched.empty()) return;
  for (const std::string& near : passed_functions().near()) names.insert(near);
  entry->texts("regions_unmatched", unmatched).texts("regions_not_entered", not_entered);
  entry->texts("regions_known", nearest_of(names, unmatched));
  if (python_lacks_perfield()) entry->raw("python_without_perfield", "true");
}

}  // namespace perfield
