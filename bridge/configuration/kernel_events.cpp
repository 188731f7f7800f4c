// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_events.cpp - see kernel_events.hpp. Raw events are written as in perf(1).
#include "configuration/kernel_events.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdlib>

#include "configuration/names.hpp"

namespace perfield {
namespace {

enum class Modes { any, kernel };

struct NamedEvent {
  const char* name;
  KernelEvent event;
};

const NamedEvent kEvents[] = {
#define PERFIELD_COUNTER(name, type, number, modes, unit, meaning) \
  {#name, {PERF_TYPE_##type, number, Modes::modes == Modes::kernel}},
#include "configuration/counters.def"
#undef PERFIELD_COUNTER
};

bool is_raw(const std::string& name) {
  return name.size() > 1 && name.size() <= 17 && name[0] == 'r' &&
         name.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string::npos;
}

}  // namespace

bool find_kernel_event(const std::string& name, KernelEvent* found) {
  for (const NamedEvent& known : kEvents) {
    if (name != known.name) continue;
    *found = known.event;
    return true;
  }
  if (!is_raw(name)) return false;
  *found = {PERF_TYPE_RAW, std::strtoull(name.c_str() + 1, nullptr, 16), false};
  return true;
}

CounterAbout about_counter(const std::string& name) {
#define PERFIELD_COUNTER(known, type, number, modes, unit, meaning)          \
  if (name == #known) {                                                      \
    const bool is_time = std::string(unit) == "s";                           \
    return {is_time ? name + "_time" : name, is_time ? "ns" : "1", meaning}; \
  }
#include "configuration/counters.def"
#undef PERFIELD_COUNTER
  return {name, "1", "what the counter " + name + " counted"};
}

std::string wrong_with_counters(const std::vector<std::string>& names) {
  if (names.size() > kMostChosenCounters)
    return "expected at most " + std::to_string(kMostChosenCounters) + " counters, not " +
           std::to_string(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::count(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]))
      return "expected each counter once, and '" + names[i] + "' is listed twice";
    KernelEvent event;
    if (find_kernel_event(names[i], &event)) continue;
    std::vector<std::string> known;
    for (const NamedEvent& named : kEvents) known.push_back(named.name);
    const std::string nearest = nearest_name(names[i], known);
    return "expected names of counters; unknown counter '" + names[i] + "'; " +
           (nearest.empty() ? "docs/counters.md lists them" : "did you mean " + nearest + "?");
  }
  return "";
}

}  // namespace perfield
