// SPDX-License-Identifier: BSD-3-Clause
//
// lock.hpp - guards a table for some ten nanoseconds under MPI_THREAD_MULTIPLE; otherwise the
// program keeps threads apart, and it does nothing.
#pragma once

#include <sched.h>

#include <atomic>

#include "library.hpp"

namespace perfield::pmpi {

class Locked {
 public:
  explicit Locked(std::atomic<bool>& lock) noexcept : lock_(library.concurrent ? &lock : nullptr) {
    if (!lock_) return;
    for (int tries = 1; lock_->exchange(true, std::memory_order_acquire); ++tries)
      if (tries % 64 == 0) sched_yield();  // the lock's holder may wait for this core
  }
  ~Locked() {
    if (lock_) lock_->store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool>* lock_;
};

}  // namespace perfield::pmpi
