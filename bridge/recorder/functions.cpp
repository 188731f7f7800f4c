// SPDX-License-Identifier: BSD-3-Clause
//
// functions.cpp - tells a source of compiled functions which of them the configuration chooses.
#include "recorder/functions.h"

#include <cstring>

#include "recorder/config.hpp"
#include "recorder/function_names.hpp"

namespace {

// nullptr: nothing is chosen. What is wrong in the configuration is told when measuring starts.
const perfield::FunctionSelection* selection() {
  static const perfield::FunctionSelection* const made = []() -> perfield::FunctionSelection* {
    const perfield::ConfigResult found = perfield::load_config();
    if (!found.errors.empty() || !found.config.enabled) return nullptr;
    return new perfield::FunctionSelection(found.config.regions, found.config.step_region);
  }();
  return made;
}

}  // namespace

char* perfield_source_function(const char* symbol) noexcept {
  try {
    const std::string name = selection() ? selection()->region_of(symbol) : "";
    return name.empty() ? nullptr : strdup(name.c_str());
  } catch (...) {  // no memory: left out
    return nullptr;
  }
}
