// SPDX-License-Identifier: BSD-3-Clause
//
// counters.hpp - the kernel's counters that the configuration chooses and the kernel can count.
// Each is a quantity of regions. Added under a lock, never removed, read without one.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "configuration/kernel_events.hpp"
#include "recorder/quantities.hpp"

namespace perfield {

struct FollowedCounter {
  std::string name;
  int quantity = 0;  // its number
  KernelEvent event;
  bool user_mode_only = false;
};

// A chosen counter that cannot be had, and the errno of perf_event_open.
struct RefusedCounter {
  std::string name;
  int error;
};

class Counters {
 public:
  // Tries each of these on this thread, and follows those that work.
  void choose(const std::vector<std::string>& names, Quantities* quantities,
              std::vector<RefusedCounter>* refused);

  // On the hot path.
  bool any() const noexcept { return size() > 0; }
  int size() const noexcept { return size_.load(std::memory_order_acquire); }
  const FollowedCounter& operator[](int number) const noexcept { return rows_[number]; }

 private:
  std::atomic<int> size_{0};
  FollowedCounter rows_[kMostChosenCounters];
};

}  // namespace perfield
