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

void CpuInCalls::start(perfield_quantity at_least, perfield_quantity at_most,
                       const Clock& clock) noexcept {
  at_least_ = at_least;
  at_most_ = at_most;
  every_ticks_ = clock.ticks_of_ns(kEvery_ns);
}

CpuReading CpuInCalls::first_reading() const noexcept {
  CpuReading reading;
  if (at_most_) {
    reading.next_reading = 0;
    reading.long_call = every_ticks_;
  }
  return reading;
}

void read_cpu(ThreadProfile& profile, uint64_t now) noexcept {
  const Recorder& r = *the_recorder;
  const CpuReading before = profile.cpu;
  CpuReading& read = profile.cpu;
  read.next_reading = now + before.long_call;
  read.ticks = now;
  read.used_ns = cpu_of_this_thread_ns();
  read.ticks_in_calls = profile.calls.ticks();
  if (!before.ticks) return;
  const auto passed_ns = [&r](uint64_t last, uint64_t first) {
    return r.clock.span_ns(growth(last, first));
  };
  const WithoutCpu without = without_cpu_in_calls(
      passed_ns(now, before.ticks), passed_ns(read.ticks_in_calls, before.ticks_in_calls),
      growth(read.used_ns, before.used_ns));
  if (without.least_ns) profile.add(r.cpu_in_calls.at_least(), without.least_ns);
  if (without.most_ns) profile.add(r.cpu_in_calls.at_most(), without.most_ns);
}

}  // namespace perfield
