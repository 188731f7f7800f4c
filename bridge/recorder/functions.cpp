// SPDX-License-Identifier: BSD-3-Clause
//
// functions.cpp - for sources that see every function of a program: says which functions the
// configuration chooses.

#include <cstring>
#include <memory>

#include "configuration/config.hpp"
#include "configuration/function_names.hpp"
#include "configuration/selection.hpp"
#include "recorder/passed_functions.hpp"
#include "recorder/recorder.hpp"
#include "recorder/source.h"

namespace {

// nullptr: nothing is chosen. Errors in the configuration are reported when measuring starts.
const perfield::Selection* selection() {
  static const perfield::Selection* const made = []() -> perfield::Selection* {
    const perfield::ConfigResult found = perfield::load_config();
    if (!found.errors.empty() || !found.config.enabled) return nullptr;
    auto chosen =
        std::make_unique<perfield::Selection>(found.config.regions, found.config.step_region);
    return chosen->any_function() ? chosen.release() : nullptr;
  }();
  return made;
}

}  // namespace

int perfield_source_follows_functions() noexcept {
  try {
    return selection() != nullptr;
  } catch (...) {
    return 0;  // no memory
  }
}

char* perfield_source_function(const char* symbol) noexcept {
  try {
    if (!selection()) return nullptr;
    const std::vector<std::string> names = perfield::function_names(symbol);
    const std::string name = selection()->region_of(names);
    perfield::passed_functions().saw(*selection(), names, name);
    return name.empty() ? nullptr : strdup(name.c_str());
  } catch (...) {  // no memory: the function is left out
    return nullptr;
  }
}

void perfield_source_function_passed(const char* name) noexcept {
  try {
    if (selection()) perfield::passed_functions().saw(*selection(), {name}, "");
  } catch (...) {  // no memory: it is not proposed
  }
}

uint32_t perfield_source_function_region(const char* name, const char* symbol, const char* file,
                                         int line) noexcept {
  auto& regions = perfield::recorder().regions;
  try {
    const std::string whole(name, strnlen(name, perfield::Regions::kLongestName));
    const std::string known = symbol ? symbol : "";
    const perfield::Selection& selection = regions.selection();
    const std::vector<std::string> names = perfield::function_names(whole, known);
    std::string chosen = selection.region_of(names);
    if (chosen.empty()) {
      chosen = perfield::readable_name(whole, known);
      if (!selection.measures(chosen) && !perfield_source_armed()) {
        perfield::passed_functions().saw(selection, names, "");
        return 0;
      }
    }
    return regions.define(chosen.c_str(), file, line) + 1;
  } catch (...) {
    return 0;  // no memory: the function is left out
  }
}
