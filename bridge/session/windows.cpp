// SPDX-License-Identifier: BSD-3-Clause
//
// windows.cpp - see windows.hpp. The thread is detached: it ends with the process, or when stopped.
#include "session/windows.hpp"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <cmath>

#include "platform/clock.hpp"
#include "platform/own_thread.hpp"
#include "recorder/source.h"

namespace perfield {

bool Windows::start(double seconds, int64_t run_start_ns, Close close) noexcept {
  length_ns_ = int64_t(std::llround(seconds * 1e9));
  run_start_ns_ = run_start_ns;
  first_ns_ = run_start_ns / length_ns_ * length_ns_;
  close_ = close;
  if (sem_init(&stop_, 0, 0) != 0) return false;
  running_.store(true, std::memory_order_relaxed);
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const bool there = start_own_thread(&thread, &detached, run, this);
  pthread_attr_destroy(&detached);
  if (there)
    pthread_setname_np(thread, PERFIELD_OWN_THREAD);
  else
    running_.store(false, std::memory_order_relaxed);
  return there;
}

void Windows::stop() noexcept {
  if (running_.exchange(false)) sem_post(&stop_);
}

double Windows::end_s(uint64_t number) const noexcept {
  return double(boundary_ns(number) - run_start_ns_) * 1e-9;
}

bool Windows::sleep_until(int64_t time_ns) noexcept {
  const timespec until = {time_t(time_ns / 1000000000), long(time_ns % 1000000000)};
  while (sem_timedwait(&stop_, &until) != 0)
    if (errno != EINTR) return running();
  return false;
}

void* Windows::run(void* data) noexcept {
  auto* self = static_cast<Windows*>(data);
  for (;;) {
    const int64_t passed = realtime_ns() - self->first_ns_;
    const uint64_t number = passed > 0 ? uint64_t(passed / self->length_ns_) : 0;
    if (!self->sleep_until(self->boundary_ns(number))) return nullptr;
    self->close_(number);
  }
}

}  // namespace perfield
