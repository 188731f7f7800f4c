// SPDX-License-Identifier: BSD-3-Clause
//
// within.cpp - see within.hpp. A futex takes a relative time and asks no function that a program
// may have replaced.
#include "platform/within.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "platform/own_thread.hpp"

namespace perfield {
namespace {

struct Work {
  std::function<void()> run;
  std::atomic<int> done{0};
};

double now_s() noexcept {
  timespec t{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

void* run(void* data) noexcept {
  const std::unique_ptr<std::shared_ptr<Work>> work(static_cast<std::shared_ptr<Work>*>(data));
  try {
    (*work)->run();
  } catch (...) {  // no memory: what it has done so far counts
  }
  (*work)->done.store(1, std::memory_order_release);
  syscall(SYS_futex, &(*work)->done, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  return nullptr;
}

bool is_done_in_time(Work& work, double seconds) noexcept {
  const double end = now_s() + seconds;
  while (!work.done.load(std::memory_order_acquire)) {
    const double left = end - now_s();
    if (left <= 0) return false;
    const timespec wait = {time_t(left), long((left - double(time_t(left))) * 1e9)};
    syscall(SYS_futex, &work.done, FUTEX_WAIT_PRIVATE, 0, &wait, nullptr, 0);
  }
  return true;
}

}  // namespace

Ended within(double seconds, std::function<void()> what) noexcept try {
  const auto work = std::make_shared<Work>();
  work->run = std::move(what);
  auto given = std::make_unique<std::shared_ptr<Work>>(work);
  pthread_t thread;
  const SmallStack stack;
  if (!start_own_thread(&thread, stack.attributes(), run, given.get()) &&
      !start_own_thread(&thread, nullptr, run, given.get()))
    return Ended::not_begun;
  (void)given.release();  // the thread's
  const bool done = is_done_in_time(*work, seconds);
  if (done)
    pthread_join(thread, nullptr);  // the library may be unloaded next
  else
    pthread_detach(thread);
  return done ? Ended::in_time : Ended::late;
} catch (...) {
  return Ended::not_begun;
}

}  // namespace perfield
