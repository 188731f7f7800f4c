// SPDX-License-Identifier: BSD-3-Clause
//
// counter.hpp - reads the processor's constant counter: the time stamp counter of x86-64, the
// generic timer (CNTVCT_EL0) of aarch64. Inline, lock-free, on any thread; 0 elsewhere.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace perfield {

#if defined(__x86_64__)
constexpr const char* kCounterName = "tsc";
inline uint64_t read_counter() noexcept { return __rdtsc(); }
inline uint64_t counter_hz() noexcept { return 0; }  // the processor does not say

#elif defined(__aarch64__)
constexpr const char* kCounterName = "cntvct";
inline uint64_t read_counter() noexcept {
  uint64_t ticks;
  // Without the barrier, the read may run ahead of the code that it times, and a later read may be
  // smaller. The C library's clock_gettime has the same barrier.
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
  return ticks;
}
inline uint64_t counter_hz() noexcept {
  uint64_t hz;
  __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
  return hz;
}

#else
constexpr const char* kCounterName = "none";
inline uint64_t read_counter() noexcept { return 0; }
inline uint64_t counter_hz() noexcept { return 0; }
#endif

}  // namespace perfield
