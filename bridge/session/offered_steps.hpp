// SPDX-License-Identifier: BSD-3-Clause
//
// offered_steps.hpp - steps that a source offers where nothing else closes steps. The first offer
// closes none: a program that calls perfield_step after its output has not done so by then.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfield {

class OfferedSteps {
 public:
  // Whether an offer closes a step.
  bool take() noexcept {
    if (others_.load(std::memory_order_relaxed)) return false;
    return n_.fetch_add(1, std::memory_order_relaxed) > 0;
  }
  // Whether offers close the steps.
  bool are_taken() const noexcept {
    return !others_.load(std::memory_order_relaxed) && n_.load(std::memory_order_relaxed) > 1;
  }
  // Something else closes steps: offers are passed over from here on.
  void others_close() noexcept { others_.store(true, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> n_{0};
  std::atomic<bool> others_{false};
};

}  // namespace perfield
