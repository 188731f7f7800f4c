// SPDX-License-Identifier: BSD-3-Clause
//
// process_watch.cpp - see process_watch.hpp.
#include "session/process_watch.hpp"

#include <sched.h>
#include <unistd.h>

namespace perfield {
namespace {

constexpr uint64_t kResidentEvery_ns = 10'000'000;
constexpr uint64_t kCpusEvery_ns = 1'000'000'000;

}  // namespace

void ProcessWatch::start(uint64_t now) {
  main_thread_ = gettid();
  cpus_ = cpu_set(main_thread_);
  cpus_ticks_ = now;
  begin_ = process_figures();
}

void ProcessWatch::fill(StepBody* body, const Clock& clock, uint64_t now, bool elsewhere) noexcept {
  if (!resident_ || clock.span_ns(now - resident_ticks_) > kResidentEvery_ns) {
    resident_ = resident_bytes(&statm_);
    resident_ticks_ = now;
  }
  last_ = process_figures();
  body->resident_bytes = resident_;
  body->cpu_user_ns = last_.cpu_user_ns - begin_.cpu_user_ns;
  body->cpu_system_ns = last_.cpu_system_ns - begin_.cpu_system_ns;
  body->voluntary_switches = last_.voluntary_switches - begin_.voluntary_switches;
  body->involuntary_switches = last_.involuntary_switches - begin_.involuntary_switches;
  body->minor_faults = last_.minor_faults - begin_.minor_faults;
  body->major_faults = last_.major_faults - begin_.major_faults;
  body->pu = int16_t(elsewhere ? last_processor(main_thread_, &stat_) : sched_getcpu());
}

bool ProcessWatch::cpus_changed(const Clock& clock, uint64_t now) {
  if (clock.span_ns(now - cpus_ticks_) < kCpusEvery_ns) return false;
  cpus_ticks_ = now;
  std::string cpus = cpu_set(main_thread_);
  if (cpus == cpus_) return false;
  cpus_ = std::move(cpus);
  return true;
}

}  // namespace perfield
