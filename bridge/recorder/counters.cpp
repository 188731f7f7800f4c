// SPDX-License-Identifier: BSD-3-Clause
//
// counters.cpp - see counters.hpp.
#include "recorder/counters.hpp"

#include <utility>

#include "recorder/kernel_counters.hpp"

namespace perfield {
namespace {

constexpr size_t kLongestName = 100;

}  // namespace

int Counters::find(const std::string& name) const noexcept {
  for (int i = 0; i < size(); ++i)
    if (rows_[i].name == name) return i;
  return -1;
}

int Counters::add(FollowedCounter counter) noexcept {
  const int number = size();
  if (number >= kMostFollowed) return -1;
  rows_[number] = std::move(counter);
  size_.store(number + 1, std::memory_order_release);
  return number;
}

void Counters::choose(const std::vector<std::string>& names, std::vector<RefusedCounter>* refused) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const std::string& name : names) {
    FollowedCounter counter{name, true, {}, false};
    if (find(name) >= 0 || !find_kernel_event(name, &counter.event)) continue;
    const int error = KernelCounters::try_out(counter.event, &counter.user_mode_only);
    if (error)
      refused->push_back({name, error});
    else
      add(std::move(counter));
  }
}

int Counters::define(const char* name) noexcept {
  if (!name || !*name) return -1;
  try {
    const std::string text = std::string(name).substr(0, kLongestName);
    std::lock_guard<std::mutex> lock(mutex_);
    const int found = find(text);
    if (found >= 0) return rows_[found].of_kernel ? -1 : found;
    return add({text, false, {}, false});
  } catch (...) {
    return -1;  // no memory for a name: it is not followed
  }
}

std::vector<std::string> Counters::names() const {
  std::vector<std::string> all;
  for (int i = 0; i < size(); ++i) all.push_back(rows_[i].name);
  return all;
}

}  // namespace perfield
