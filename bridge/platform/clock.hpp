// SPDX-License-Identifier: BSD-3-Clause
//
// clock.hpp - the cheapest constant clock of this machine, in ticks: the processor's counter where
// it is constant and the kernel keeps time by it, else CLOCK_MONOTONIC (ticks are then
// nanoseconds). On aarch64 both have the counter's resolution, 1 to 40 ns.
// Reading it is inline, lock-free and safe on any thread; start() or take() is called once.
// A clock that takes stamps is never read: the events bring their own.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "platform/counter.hpp"

namespace perfield {

inline uint64_t monotonic_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}

inline int64_t realtime_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

// The counter and CLOCK_MONOTONIC at one moment.
struct ClockPair {
  uint64_t ticks = 0, ns = 0;
};

// What the system's clocks showed at stamp 0. Ranks of one boot agree on the node's
// CLOCK_MONOTONIC, which a time namespace may shift.
struct ClockOrigin {
  int64_t monotonic_ns = 0, realtime_ns = 0;
  std::string time_namespace;  // its name where its shift is not known, and monotonic_ns has it; ""
  int64_t realtime_error_ns = -1;  // the kernel's bound for CLOCK_REALTIME; -1: it knows none
};

class Clock {
 public:
  // choice: "auto", "counter" or "monotonic". Stamps in nanoseconds count from this call.
  void start(const char* choice) noexcept;
  const ClockOrigin& origin() const noexcept { return origin_; }  // of start()

  // Stamps are given, in so many ticks per second; `origin` is the one that ns() counts from.
  void take(double ticks_per_second, uint64_t origin) noexcept;

  bool by_counter() const noexcept { return counts_; }
  uint64_t ticks() const noexcept { return counts_ ? read_counter() : monotonic_ns(); }

  // Compares the counter with CLOCK_MONOTONIC again, so that a stamp taken now becomes what that
  // clock shows, also where the kernel has changed its rate since. Runs each time a step closes.
  void calibrate() noexcept;

  // Converts a span of ticks to nanoseconds.
  uint64_t span_ns(uint64_t ticks) const noexcept {
    return scaled_ ? uint64_t(double(ticks) * ns_per_tick_) : ticks;
  }
  // The same for a difference of either sign.
  int64_t difference_ns(int64_t ticks) const noexcept {
    return scaled_ ? int64_t(double(ticks) * ns_per_tick_) : ticks;
  }
  uint64_t ticks_of_ns(uint64_t ns) const noexcept {
    return scaled_ ? uint64_t(double(ns) / ns_per_tick_) : ns;
  }
  // A stamp in nanoseconds since start(), or since the origin that was given. Exact for stamps near
  // the last calibration, so convert them soon.
  uint64_t since_start_ns(uint64_t stamp) const noexcept {
    return span_ns(stamp - origin_pair_.ticks);
  }

  const char* name() const noexcept { return counts_ ? kCounterName : "monotonic"; }
  // That name, and why it is not the processor's counter where that was allowed.
  std::string in_words() const;

 private:
  bool counts_ = false;    // by the processor's counter
  bool asked_ = false;     // not to count by it
  bool scaled_ = false;    // ticks are not nanoseconds
  ClockPair origin_pair_;  // stamp 0; its ns only after start()
  ClockOrigin origin_;
  double ns_per_tick_ = 1.0;
};

}  // namespace perfield
