// SPDX-License-Identifier: BSD-3-Clause
//
// clock.cpp - chooses and calibrates the clock. The library reads both clocks once when it is
// loaded, long before the first step closes, so that it knows the rate without waiting.
#include "platform/clock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace perfield {
namespace {

struct Pair {
  uint64_t ticks, ns;
};

// Both clocks at one moment: of three tries, the one with the shortest interruption.
Pair read_pair() noexcept {
  Pair best{0, 0};
#if defined(__x86_64__)
  uint64_t narrowest = ~uint64_t(0);
  for (int i = 0; i < 3; ++i) {
    uint64_t before = __rdtsc();
    uint64_t ns = monotonic_ns();
    uint64_t width = __rdtsc() - before;
    if (width < narrowest) {
      narrowest = width;
      best = {before + width / 2, ns};
    }
  }
#endif
  return best;
}

// A constructor runs before dynamic initialisers elsewhere: the earlier the first pair, the better.
Pair first_pair;
__attribute__((constructor)) void take_first_pair() { first_pair = read_pair(); }

// The kernel compares the counter with other clocks and stops using it if it drifts.
bool kernel_trusts_tsc() noexcept {
  int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char name[64] = {};
  ssize_t n = read(fd, name, sizeof name - 1);
  close(fd);
  if (n <= 0) return false;
  return !strncmp(name, "tsc", 3) || !strncmp(name, "kvm-clock", 9) ||
         !strncmp(name, "hyperv_clocksource_tsc_page", 27);
}

bool invariant_tsc() noexcept {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#else
  return false;
#endif
}

}  // namespace

void Clock::start(const char* choice) noexcept {
  tsc_ = scaled_ = strcmp(choice, "monotonic") != 0 && invariant_tsc() &&
                   (!strcmp(choice, "tsc") || kernel_trusts_tsc());
  calibrate();
  origin_ticks_ = ticks();
}

void Clock::take(double ticks_per_second, uint64_t origin) noexcept {
  scaled_ = true;
  ns_per_tick_ = 1e9 / ticks_per_second;
  origin_ticks_ = origin;
}

void Clock::calibrate() noexcept {
  if (!tsc_) return;
  Pair now = read_pair();
  if (now.ns > first_pair.ns + 1000 && now.ticks > first_pair.ticks)
    ns_per_tick_ = double(now.ns - first_pair.ns) / double(now.ticks - first_pair.ticks);
}

}  // namespace perfield
