// SPDX-License-Identifier: BSD-3-Clause
//
// counting.hpp - wraps one call of the C library that reads or writes: calls the real function and
// counts the call. Nothing here allocates or locks. Nothing needs a destructor while the real call
// runs, so a thread may be cancelled in it or leave it by longjmp.
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <sys/types.h>

#include <atomic>

#include "recorder/file_operations.hpp"
#include "recorder/source.h"
#include "sources/io/file_kinds.hpp"

// Defines a function that this library puts in front of the C library's.
#define PERFIELD_IN_FRONT_OF(result, name, ...)                                                 \
  result in_front_of_##name(__VA_ARGS__) __asm__(#name) __attribute__((visibility("default"))); \
  result in_front_of_##name(__VA_ARGS__)

// The function that the program would call without this library. type: of the pointer to it.
#define PERFIELD_NEXT(type, name)                                                                \
  ([] {                                                                                          \
    __attribute__((section("perfield_next"), used)) static ::perfield::io::Next next{#name,      \
                                                                                     {nullptr}}; \
    return reinterpret_cast<type>(next.get());                                                   \
  }())

namespace perfield::io {

// All of them lie side by side. This library looks them up when it is loaded, since dlsym is not
// safe in a signal handler. A function that is called even earlier is looked up at its first call.
struct Next {
  const char* symbol;
  std::atomic<void*> found;

  void* get() noexcept {
    void* function = found.load(std::memory_order_relaxed);
    if (__builtin_expect(!function, 0)) {
      function = dlsym(RTLD_NEXT, symbol);
      found.store(function, std::memory_order_relaxed);
    }
    return function;
  }
};

enum class Way { in, out };

extern FileOperations operations;  // valid once `ready`, see file_kinds.hpp

template <Way way>
const perfield_operation* operation() noexcept {
  return way == Way::out ? &operations.write : &operations.read;
}

// Stamp of a call that begins here; 0: do not count it.
template <Way way>
__attribute__((always_inline)) inline uint64_t enter() noexcept {
  const int error = errno;
  const uint64_t stamp = perfield_operation_enter(operation<way>(), __builtin_frame_address(0));
  errno = error;
  return stamp;
}

template <Way way>
void leave(uint64_t stamp, uint64_t bytes) noexcept {
  perfield_operation_leave(operation<way>(), stamp, bytes);
}

// Makes and counts a call on a descriptor that returns the bytes moved, or -1.
template <Way way, class Call>
__attribute__((always_inline)) inline auto on_descriptor(int descriptor, Call call) {
  const uint64_t stamp = is_file(descriptor) ? enter<way>() : 0;
  const auto moved = call();
  if (stamp) leave<way>(stamp, moved > 0 ? static_cast<uint64_t>(moved) : 0);
  return moved;
}

}  // namespace perfield::io
