// SPDX-License-Identifier: BSD-3-Clause
//
// counters.hpp - the kernel counters that the configuration chooses and the kernel can count. Each
// is a quantity of regions. They are added under a lock, never removed, and read without a lock.
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

// A chosen counter that is not available, with the errno of perf_event_open.
struct RefusedCounter {
  std::string name;
  int error;
};

class Counters {
 public:
  // Tries each of these counters on this thread, and follows those that work.
  void choose(const std::vector<std::string>& names, Quantities* quantities,
              std::vector<RefusedCounter>* refused);

  // Called on the hot path.
  bool any() const noexcept { return size() > 0; }
  int size() const noexcept { return size_.load(std::memory_order_acquire); }
  const FollowedCounter& operator[](int number) const noexcept { return rows_[number]; }

 private:
  std::atomic<int> size_{0};
  FollowedCounter rows_[kMostChosenCounters];
};

}  // namespace perfield
