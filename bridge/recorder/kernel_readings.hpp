// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_readings.hpp - one thread's kernel counters as quantities. Keeps each counter's last
// reading: by the thread itself at begins and ends of regions, or from outside when a step closes.
// Exists only where counters are chosen. thread_profile.hpp says which thread may touch what.
#pragma once

#include "recorder/counter.hpp"
#include "recorder/counters.hpp"
#include "recorder/kernel_counters.hpp"

namespace perfield {

class KernelReadings {
 public:
  // nullptr if there is no memory. Freed with its profile.
  static KernelReadings* create(uint64_t period) noexcept;
  static void destroy(KernelReadings* readings) noexcept;

  // --- by the thread that counts ----------------------------------------------------------------
  void start(const Counters& counters) noexcept {
    if (!kernel_.is_open()) kernel_.open(counters);
  }
  // Reads all counters, and calls grown(counter, growth) for each that grew in this period.
  template <class Grown>
  void look(const Counters& counters, uint64_t period, Grown grown) noexcept {
    uint64_t now[kMostChosenCounters];
    const int n = counters.size();
    for (int c = 0; c < n; ++c) now[c] = last_[c].get();
    kernel_.read(now);
    const bool same = period_.get() == period, has_base = base_period_.get() == period;
    for (int c = 0; c < n; ++c) {
      const uint64_t from = same ? last_[c].get() : has_base ? base_[c].get() : now[c];
      last_[c].set(now[c]);
      if (now[c] > from) grown(c, now[c] - from);
    }
    period_.set(period);
  }
  // Starts anew for the next thread of this profile.
  void thread_ended() noexcept {
    kernel_.close();
    for (Counter& value : last_) value.set(0);
    for (Counter& value : base_) value.set(0);
  }

  // --- by the thread that closes a step ---------------------------------------------------------
  // The same for the growth since the thread's own last reading.
  template <class Grown>
  void look_from_outside(const Counters& counters, uint64_t period, Grown grown) noexcept {
    uint64_t now[kMostChosenCounters];
    read_from_outside(counters, now);
    const bool same = period_.get() == period, has_base = base_period_.get() == period;
    for (int c = 0; c < counters.size(); ++c) {
      const uint64_t from = same ? last_[c].get() : has_base ? base_[c].get() : now[c];
      if (now[c] > from) grown(c, now[c] - from);
    }
  }
  // Begins a period in which regions are open already.
  void open(const Counters& counters, uint64_t period) noexcept {
    uint64_t now[kMostChosenCounters];
    read_from_outside(counters, now);
    for (int c = 0; c < counters.size(); ++c) base_[c].set(now[c]);
    base_period_.set(period);
  }

  bool shared_registers() const noexcept { return kernel_.shared_registers(); }

 private:
  KernelReadings() = default;
  void read_from_outside(const Counters& counters, uint64_t* now) noexcept {
    for (int c = 0; c < counters.size(); ++c) now[c] = last_[c].get();
    kernel_.read_from_outside(now);
  }

  KernelCounters kernel_;
  Counter last_[kMostChosenCounters], period_;       // the thread's last reading, and its period
  Counter base_[kMostChosenCounters], base_period_;  // readings where a period began inside regions
};

}  // namespace perfield
