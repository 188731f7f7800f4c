// SPDX-License-Identifier: BSD-3-Clause
//
// cpu_in_calls.hpp - how long a thread had no CPU in MPI calls: asleep, or in the queue of a CPU
// that others used. With the CPU time of the process this tells how much of it was computing, also
// where ranks share CPUs and spin in MPI. A thread reads its CPU clock where a call begins or ends
// and the last reading is kEvery_ns old, so shorter calls count as running.
#pragma once

#include <algorithm>
#include <cstdint>

#include "recorder/source.h"

namespace perfield {

class Clock;
class Shard;

// A thread's last reading of its CPU clock; only the thread uses it.
struct CpuReading {
  static constexpr uint64_t kNever = uint64_t{1} << 63;
  uint64_t next_reading = kNever;  // ticks; not before
  uint64_t long_call = kNever;     // ticks; calls at least so long are followed by a reading
  uint64_t ticks = 0, used_ns = 0;
};

// How long a thread had no CPU in a call. before_ns: from the last reading of its CPU clock to the
// call; it is taken to have run there. call_ns: the call's time. used_ns: CPU time since that
// reading.
inline uint64_t without_cpu_ns(uint64_t before_ns, uint64_t call_ns, uint64_t used_ns) noexcept {
  const uint64_t in_call_ns = used_ns - std::min(used_ns, before_ns);
  return call_ns - std::min(call_ns, in_call_ns);
}

class CpuInCalls {
 public:
  static constexpr uint64_t kEvery_ns = 500'000;  // a reading takes up to 0.5 us

  // From now on new threads count into that quantity of the rank, in ns.
  void start(perfield_quantity quantity, const Clock& clock) noexcept;
  CpuReading first_reading() const noexcept;

  perfield_quantity quantity() const noexcept { return quantity_; }

 private:
  perfield_quantity quantity_ = 0;
  uint64_t every_ticks_ = 0;
};

// On the thread of the shard, where a reading is due: before a call, and after a long one.
void cpu_before_call(CpuReading* reading, uint64_t now) noexcept;
void cpu_after_call(Shard& shard, uint64_t entered, uint64_t now) noexcept;

}  // namespace perfield
