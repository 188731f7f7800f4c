// SPDX-License-Identifier: BSD-3-Clause
//
// own_thread.hpp - threads of perfield's own inside the program.
#pragma once

#include <link.h>
#include <pthread.h>
#include <signal.h>

#include <cstddef>

namespace perfield {

// Attributes of a thread whose stack is smaller than the default 8 MB, which count as data of the
// program. The stack also holds the thread's variables, of all libraries.
class SmallStack {
 public:
  SmallStack() noexcept {
    size_t bytes = kBytes;
    dl_iterate_phdr(add_variables, &bytes);
    pthread_attr_init(&attributes_);
    pthread_attr_setstacksize(&attributes_, (bytes + 4095) / 4096 * 4096);
  }
  ~SmallStack() { pthread_attr_destroy(&attributes_); }
  SmallStack(const SmallStack&) = delete;
  SmallStack& operator=(const SmallStack&) = delete;
  const pthread_attr_t* attributes() const noexcept { return &attributes_; }

 private:
  static constexpr size_t kBytes = 512 * 1024;
  static int add_variables(dl_phdr_info* object, size_t, void* bytes) noexcept {
    for (int i = 0; i < object->dlpi_phnum; ++i)
      if (object->dlpi_phdr[i].p_type == PT_TLS)
        *static_cast<size_t*>(bytes) += object->dlpi_phdr[i].p_memsz;
    return 0;
  }
  pthread_attr_t attributes_;
};

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
