// SPDX-License-Identifier: BSD-3-Clause
//
// own_thread.hpp - threads of perfield's own inside the program.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace perfield {

// Starts one; false if none can be had. It blocks all signals, so that no handler of the program
// runs on it. attributes: may be null.
inline bool start_own_thread(pthread_t* thread, const pthread_attr_t* attributes,
                             void* (*run)(void*), void* data) noexcept {
  sigset_t all, before;  // the thread inherits this mask
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool there = pthread_create(thread, attributes, run, data) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return there;
}

}  // namespace perfield
