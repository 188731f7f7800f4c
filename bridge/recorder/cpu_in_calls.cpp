// SPDX-License-Identifier: BSD-3-Clause
//
// cpu_in_calls.cpp - see cpu_in_calls.hpp.
#include "recorder/cpu_in_calls.hpp"

#include <time.h>

#include "recorder/recorder.hpp"

namespace perfield {
namespace {

uint64_t cpu_of_this_thread_ns() noexcept {
  timespec t;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0) return 0;
  return uint64_t(t.tv_sec) * 1'000'000'000u + uint64_t(t.tv_nsec);
}

}  // namespace

void CpuInCalls::start(perfield_quantity quantity, const Clock& clock) noexcept {
  quantity_ = quantity;
  every_ticks_ = clock.ticks_of_ns(kEvery_ns);
}

CpuReading CpuInCalls::first_reading() const noexcept {
  CpuReading reading;
  if (quantity_) {
    reading.next_reading = 0;
    reading.long_call = every_ticks_;
  }
  return reading;
}

void cpu_before_call(CpuReading* reading, uint64_t now) noexcept {
  *reading = {now + reading->long_call, reading->long_call, now, cpu_of_this_thread_ns()};
}

void cpu_after_call(Shard& shard, uint64_t entered, uint64_t now) noexcept {
  const Recorder& r = *the_recorder;
  const CpuReading before = shard.cpu;
  cpu_before_call(&shard.cpu, now);
  if (!before.ticks) return;
  const uint64_t without =
      without_cpu_ns(r.clock.span_ns(growth(entered, before.ticks)),
                     r.clock.span_ns(growth(now, std::max(entered, before.ticks))),
                     shard.cpu.used_ns - std::min(shard.cpu.used_ns, before.used_ns));
  if (without) shard.add(r.cpu_in_calls.quantity(), without);
}

}  // namespace perfield
