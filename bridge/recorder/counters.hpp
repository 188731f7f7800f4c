// SPDX-License-Identifier: BSD-3-Clause
//
// counters.hpp - which counters of threads are followed for regions: those that the configuration
// chooses and the kernel counts, and those that a source reads by itself and hands over. Added
// under a lock, never removed, read without one.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "configuration/kernel_events.hpp"

namespace perfield {

inline constexpr int kMostFollowed = 16;  // chosen and handed over, together
static_assert(kMostFollowed >= int(kMostChosenCounters));

struct FollowedCounter {
  std::string name;
  bool of_kernel = false;
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
  void choose(const std::vector<std::string>& names, std::vector<RefusedCounter>* refused);

  // The number of a counter that a source hands over; -1 if there is no room, or if the kernel's of
  // that name is followed already.
  int define(const char* name) noexcept;

  // On the hot path.
  bool any() const noexcept { return size() > 0; }
  int size() const noexcept { return size_.load(std::memory_order_acquire); }
  const FollowedCounter& operator[](int number) const noexcept { return rows_[number]; }
  // Their names, by number.
  std::vector<std::string> names() const;
  // The number of the one of that name, -1 if there is none.
  int find(const std::string& name) const noexcept;

 private:
  int add(FollowedCounter counter) noexcept;

  std::atomic<int> size_{0};
  std::mutex mutex_;
  FollowedCounter rows_[kMostFollowed];
};

}  // namespace perfield
