// SPDX-License-Identifier: BSD-3-Clause
//
// cpu_in_calls.hpp - how long a thread had no CPU in MPI calls: asleep, or in the queue of a CPU
// that others used. With the CPU time of the process this says how much of it was computing, also
// where ranks share CPUs and spin in MPI. A thread reads its CPU clock where a call begins and the
// last reading is kEvery_ns old, and behind calls that take so long. Between two readings its time
// in calls and its time without a CPU are known, hence how long both were at once, at least and at
// most.
#pragma once

#include <algorithm>
#include <cstdint>

#include "recorder/source.h"

namespace perfield {

class Clock;
class ThreadProfile;

// A thread's last reading of its CPU clock; only the thread uses it.
struct CpuReading {
  static constexpr uint64_t kNever = uint64_t{1} << 63;
  uint64_t next_reading = kNever;  // ticks; not before
  uint64_t long_call = kNever;     // ticks; calls at least so long are followed by a reading
  uint64_t ticks = 0, used_ns = 0, ticks_in_calls = 0;
};

// How long a thread had no CPU in calls between two readings.
struct WithoutCpu {
  uint64_t least_ns, most_ns;
};

// passed_ns: from the one to the other. calls_ns: in calls. used_ns: CPU time.
inline WithoutCpu without_cpu_in_calls(uint64_t passed_ns, uint64_t calls_ns,
                                       uint64_t used_ns) noexcept {
  return {calls_ns - std::min(calls_ns, used_ns),
          std::min(calls_ns, passed_ns - std::min(passed_ns, used_ns))};
}

class CpuInCalls {
 public:
  static constexpr uint64_t kEvery_ns = 500'000;  // a reading takes up to 0.5 us

  // From now on new threads count into these quantities of the rank, in ns.
  void start(perfield_quantity at_least, perfield_quantity at_most, const Clock& clock) noexcept;
  CpuReading first_reading() const noexcept;

  perfield_quantity at_least() const noexcept { return at_least_; }
  perfield_quantity at_most() const noexcept { return at_most_; }

 private:
  perfield_quantity at_least_ = 0, at_most_ = 0;
  uint64_t every_ticks_ = 0;
};

// By the profile's thread, where a reading is due: before a call, or when a long one is
// counted.
void read_cpu(ThreadProfile& profile, uint64_t now) noexcept;

}  // namespace perfield
