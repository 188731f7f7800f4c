// SPDX-License-Identifier: BSD-3-Clause
//
// thread_watch.cpp - see thread_watch.hpp. A thread that waits for a CPU is in /proc/*/schedstat:
// its time on a CPU, its time in the queue of one, and how often it got one.
#include "session/thread_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "platform/kernel_calls.hpp"

namespace perfield {
namespace {

constexpr size_t kMostThreads = 64;
constexpr uint64_t kOthersEvery_ns = 10'000'000;
constexpr uint64_t kComputes_ns = 1'000'000;  // helpers of MPI and CUDA sleep and stay below it
constexpr uint64_t kPartOfBusiest = 10;

}  // namespace

void ThreadWatch::start() {
  threads_.reserve(kMostThreads);
  threads_.push_back({thread_number(), 0, 0, 0, true, {}});
  list_threads();
  for (Thread& thread : threads_) {
    thread.used_before_ns = cpu_time_ns(thread.id);
    const bool is_counted = read_delay(&thread, &thread.delay_before_ns);
    if (&thread == threads_.data())
      counts_delay_ = is_counted;
    else
      thread.schedstat.close();  // most of these sleep
  }
  look_at_cpus();
}

void ThreadWatch::list_threads() noexcept {
  n_listed_ = list_.count();
  for (Thread& thread : threads_) thread.is_there = false;
  list_.each([this](pid_t id) {
    for (Thread& thread : threads_)
      if (thread.id == id) {
        thread.is_there = true;
        return;
      }
    if (threads_.size() < kMostThreads) threads_.push_back({id, 0, 0, 0, true, {}});
  });
  for (Thread& thread : threads_)
    if (!thread.is_there) thread.schedstat.close();
  threads_.erase(std::remove_if(threads_.begin() + 1, threads_.end(),
                                [](const Thread& thread) { return !thread.is_there; }),
                 threads_.end());
}

bool ThreadWatch::computes(const Thread& thread) const noexcept {
  return &thread == threads_.data() ||
         (thread.used_ns >= kComputes_ns && thread.used_ns >= busiest_ns_ / kPartOfBusiest);
}

bool ThreadWatch::read_delay(Thread* thread, uint64_t* delay_ns) noexcept {
  char path[64], text[128];
  snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", int(thread->id));
  if (!thread->schedstat.read(path, text, sizeof text)) return false;
  char *after_time, *after_delay;
  strtoull(text, &after_time, 10);
  *delay_ns = strtoull(after_time, &after_delay, 10);
  return strtoull(after_delay, nullptr, 10) > 0;  // 0: the kernel is built without
}

void ThreadWatch::note_delay(Thread* thread) noexcept {
  uint64_t delay_ns = 0;
  if (read_delay(thread, &delay_ns) && delay_ns > thread->delay_before_ns)
    delay_ns_ = std::max(delay_ns_, delay_ns - thread->delay_before_ns);
}

// A thread that waits for a CPU has left one before, which is a switch. So the main thread has not
// waited if it had none since its own last look. Another thread's look may find it waiting.
void ThreadWatch::look(uint64_t now_ns, bool by_main_thread, uint64_t n_switches,
                       bool is_end) noexcept {
  if (counts_delay_ && (!by_main_thread || n_switches != n_switches_ || is_end))
    note_delay(&threads_[0]);
  n_switches_ = by_main_thread ? n_switches : kUnknown;
  if (!is_end && now_ns - looked_ns_ < kOthersEvery_ns) return;
  looked_ns_ = now_ns;
  if (list_.count() != n_listed_) list_threads();
  busiest_ns_ = 0;
  for (Thread& thread : threads_) {
    const uint64_t used_ns = cpu_time_ns(thread.id);
    thread.used_ns = used_ns - std::min(used_ns, thread.used_before_ns);
    busiest_ns_ = std::max(busiest_ns_, thread.used_ns);
  }
  if (!counts_delay_) return;
  for (size_t n = 1; n < threads_.size(); ++n)
    if (computes(threads_[n])) note_delay(&threads_[n]);
}

bool ThreadWatch::look_at_cpus() {
  CpuMask all;
  std::vector<std::string> of_threads;
  for (const Thread& thread : threads_) {
    const CpuMask mask = computes(thread) ? cpu_mask(thread.id) : CpuMask();
    if (mask.empty()) continue;
    join(&all, mask);
    of_threads.push_back(cpu_list(mask));
  }
  if (of_threads.size() < 2) of_threads.clear();
  std::string cpus = cpu_list(all);
  if (cpus.empty() || (cpus == cpus_ && of_threads == of_threads_)) return false;
  mask_ = std::move(all);
  cpus_ = std::move(cpus);
  of_threads_ = std::move(of_threads);
  return true;
}

}  // namespace perfield
