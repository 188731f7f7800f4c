// SPDX-License-Identifier: BSD-3-Clause
//
// passed_functions.cpp - see passed_functions.hpp.
#include "recorder/passed_functions.hpp"

#include <new>

#include "configuration/names.hpp"

namespace perfield {
namespace {

constexpr size_t kMostChosen = 1024;

size_t difference(size_t a, size_t b) { return a > b ? a - b : b - a; }

}  // namespace

PassedFunctions& passed_functions() noexcept {
  alignas(PassedFunctions) static char memory[sizeof(PassedFunctions)];
  static PassedFunctions* functions = new (memory) PassedFunctions;
  return *functions;
}

void PassedFunctions::saw(const Selection& selection, const std::vector<std::string>& names,
                          const std::string& chosen) noexcept {
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!chosen.empty()) {
      if (chosen_.size() < kMostChosen) chosen_.insert(chosen);
      return;
    }
    for (const std::string& entry : selection.function_entries())
      for (const std::string& name : names) {
        const size_t most = near_enough(entry);
        if (difference(name.size(), entry.size()) > most) continue;
        const auto known = nearest_.find(entry);
        if (known != nearest_.end() && known->second.edits <= 1) continue;
        const size_t edits = edits_between(entry, name);
        if (edits <= most && (known == nearest_.end() || edits < known->second.edits))
          nearest_[entry] = {name, edits};
      }
  } catch (...) {  // no memory
  }
}

std::vector<std::string> PassedFunctions::near() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [entry, nearest] : nearest_) names.push_back(nearest.name);
  return names;
}

bool PassedFunctions::has(const std::string& entry) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const Selection selection({entry}, "");
  for (const std::string& name : chosen_)
    if (selection.measures(name)) return true;
  return false;
}

}  // namespace perfield
