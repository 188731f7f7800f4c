// SPDX-License-Identifier: BSD-3-Clause
//
// process_watch.cpp - see process_watch.hpp. What costs more than a microsecond to read is read so
// rarely that this takes a thousandth of the time.
#include "session/process_watch.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "format/known_quantities.hpp"
#include "platform/kernel_calls.hpp"

namespace perfield {
namespace {

constexpr uint64_t kResidentEvery_ns = 10'000'000;
constexpr uint64_t kCpusEvery_ns = 1'000'000'000;
constexpr uint64_t kReadEvery_ns = 10'000'000;
constexpr uint64_t kRarer = 1000;  // than its reading takes

}  // namespace

void ProcessWatch::start(Recorder& r, uint64_t now) {
  main_thread_ = thread_number();
  threads_.start();
  quota_.find();
  cpus_ticks_ = now;
  begin_ = process_figures();
  const auto time_of_rank = [&r](KnownQuantity what, const char* help) {
    return r.define_quantity(kWithoutPuNames[number_without_pu(what)], "ns", PERFIELD_PER_RANK,
                             PERFIELD_STEPS_SUM, PERFIELD_THREADS_SUM, help);
  };
  r.cpu_in_calls.start(
      time_of_rank(KnownQuantity::mpi_without_pu_at_least,
                   "time in MPI calls in which the calling thread did not run, at least"),
      time_of_rank(KnownQuantity::mpi_without_pu,
                   "time in MPI calls in which the calling thread did not run, at most"),
      r.clock);
  if (threads_.counts_delay())
    run_delay_.quantity = time_of_rank(KnownQuantity::run_delay, "see run_delay_time_s");
  if (quota_.is_there())
    throttled_.quantity = time_of_rank(KnownQuantity::throttled_time, "see throttled_time_s");
  if (stolen_.find())
    stolen_time_.quantity = time_of_rank(KnownQuantity::stolen_time, "see stolen_time_s");
  look(r, now, true);
  entry_written();
}

template <class Read>
void ProcessWatch::look(Recorder& r, GrowingTime* time, uint64_t now, bool is_end,
                        Read read) noexcept {
  if (!time->quantity || (!is_end && now < time->due_ticks)) return;
  const uint64_t before = r.clock.ticks();
  time->last_ns = std::max(time->last_ns, read());
  const uint64_t cost = r.clock.ticks() - before;
  time->due_ticks = now + std::max(r.clock.ticks_of_ns(kReadEvery_ns), kRarer * cost);
}

void ProcessWatch::look(Recorder& r, uint64_t now, bool is_end) noexcept {
  if (!resident_ || r.clock.span_ns(now - resident_ticks_) > kResidentEvery_ns) {
    resident_ = resident_bytes(&statm_);
    resident_ticks_ = now;
  }
  last_ = process_figures();
  const bool by_main_thread =
      this_profile && this_profile->thread_id.load(std::memory_order_relaxed) == main_thread_;
  threads_.look(r.clock.span_ns(now), by_main_thread,
                last_.voluntary_switches + last_.involuntary_switches, is_end);
  run_delay_.last_ns = threads_.run_delay_ns();
  look(r, &throttled_, now, is_end, [this] { return quota_.throttled_ns(); });
  look(r, &stolen_time_, now, is_end, [this] { return stolen_.stolen_ns(threads_.mask()); });
  if (r.n_profiles() == 0) return;
  for (const GrowingTime* time : {&run_delay_, &throttled_, &stolen_time_})
    if (time->quantity) r.set_of_rank(time->quantity, time->last_ns - time->begin_ns);
}

void ProcessWatch::fill(StepBody* body, bool elsewhere) noexcept {
  body->resident_bytes = resident_;
  body->cpu_user_ns = last_.cpu_user_ns - begin_.cpu_user_ns;
  body->cpu_system_ns = last_.cpu_system_ns - begin_.cpu_system_ns;
  body->voluntary_switches = last_.voluntary_switches - begin_.voluntary_switches;
  body->involuntary_switches = last_.involuntary_switches - begin_.involuntary_switches;
  body->minor_faults = last_.minor_faults - begin_.minor_faults;
  body->major_faults = last_.major_faults - begin_.major_faults;
  body->pu = int16_t(elsewhere ? last_processor(main_thread_, &stat_) : sched_getcpu());
}

void ProcessWatch::entry_written() noexcept {
  begin_ = last_;
  for (GrowingTime* time : {&run_delay_, &throttled_, &stolen_time_})
    time->begin_ns = time->last_ns;
}

bool ProcessWatch::cpus_changed(const Clock& clock, uint64_t now, bool is_end) {
  if (!is_end && clock.span_ns(now - cpus_ticks_) < kCpusEvery_ns) return false;
  cpus_ticks_ = now;
  return threads_.look_at_cpus();
}

}  // namespace perfield
