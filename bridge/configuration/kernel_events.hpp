// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_events.hpp - the names that the setting `counters` accepts: those of counters.def, and r
// with hexadecimal digits for an event as the processor's manual numbers it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfield {

inline constexpr size_t kMostChosenCounters = 8;

// A request to the kernel (perf_event_open(2)).
struct KernelEvent {
  uint32_t type = 0;
  uint64_t number = 0;
  bool needs_kernel = false;  // never happens in user mode
};

// Finds the event with that name; false if none has it.
bool find_kernel_event(const std::string& name, KernelEvent* found);

// What it is as a quantity.
struct CounterAbout {
  std::string quantity;  // its name
  const char* unit;      // that the kernel counts it in
  std::string meaning;
};
CounterAbout about_counter(const std::string& name);

// What is wrong with a list of names, as the second half of a sentence; "" if nothing is.
std::string wrong_with_counters(const std::vector<std::string>& names);

}  // namespace perfield
