// SPDX-License-Identifier: BSD-3-Clause
//
// clock.cpp - chooses and calibrates the clock. The library reads both clocks once when it is
// loaded, long before the first step closes, so that it knows the rate without waiting.
#include "platform/clock.hpp"

#include <fcntl.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "platform/time_namespace.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace perfield {
namespace {

// Both clocks at one moment: of three tries, the one with the shortest interruption. If all three
// were interrupted, it tries again.
ClockPair read_pair() noexcept {
  ClockPair best{0, 0};
  constexpr int kTries = 3, kMostTries = 20;
  static uint64_t narrowest_ever = ~uint64_t(0);
  uint64_t narrowest = ~uint64_t(0);
  for (int i = 0; i < kTries || (i < kMostTries && narrowest / 4 > narrowest_ever); ++i) {
    uint64_t before = read_counter();
    uint64_t ns = monotonic_ns();
    uint64_t width = read_counter() - before;
    if (width < narrowest) {
      narrowest = width;
      best = {before + width / 2, ns};
    }
  }
  narrowest_ever = std::min(narrowest_ever, narrowest);
  return best;
}

// CLOCK_REALTIME minus CLOCK_MONOTONIC: of a few tries, the one with the shortest interruption.
int64_t realtime_ahead_ns() noexcept {
  int64_t ahead = 0;
  uint64_t narrowest = ~uint64_t(0);
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = monotonic_ns();
    const int64_t realtime = realtime_ns();
    const uint64_t width = monotonic_ns() - before;
    if (width < narrowest) {
      narrowest = width;
      ahead = realtime - int64_t(before + width / 2);
    }
  }
  return ahead;
}

// The kernel's bound for the error of CLOCK_REALTIME; -1 where nothing synchronises it.
int64_t realtime_error_ns() noexcept {
  timex state{};
  if (adjtimex(&state) < 0 || (state.status & STA_UNSYNC)) return -1;
  return int64_t(state.maxerror) * 1000;
}

// A constructor runs before dynamic initialisers elsewhere: the earlier the first pair, the better.
ClockPair first_pair;
__attribute__((constructor)) void take_first_pair() { first_pair = read_pair(); }

// What the kernel keeps time by; "" if it does not say.
std::string clocksource() {
  int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  char name[64] = {};
  ssize_t n = read(fd, name, sizeof name - 1);
  close(fd);
  return std::string(name, n > 0 ? strcspn(name, "\n") : 0);
}

// The kernel compares the counter with other clocks and stops using it if it drifts.
bool kernel_trusts_counter() {
  const std::string source = clocksource();
#if defined(__aarch64__)
  const char* const trusted[] = {"arch_sys_counter"};
#else
  const char* const trusted[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page"};
#endif
  return std::any_of(std::begin(trusted), std::end(trusted),
                     [&](const char* name) { return source.rfind(name, 0) == 0; });
}

bool has_constant_counter() noexcept {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#elif defined(__aarch64__)
  return true;  // by its architecture
#else
  return false;
#endif
}

}  // namespace

void Clock::start(const char* choice) noexcept {
  asked_ = strcmp(choice, "monotonic") == 0;
  counts_ = scaled_ =
      !asked_ && has_constant_counter() && (!strcmp(choice, "counter") || kernel_trusts_counter());
  calibrate();
  const uint64_t now = monotonic_ns();
  origin_pair_ = counts_ ? read_pair() : ClockPair{now, now};
  origin_.monotonic_ns = int64_t(origin_pair_.ns);
  origin_.realtime_ns = origin_.monotonic_ns + realtime_ahead_ns();
  origin_.realtime_error_ns = realtime_error_ns();
  const TimeNamespace own = time_namespace();
  origin_.monotonic_ns -= own.ahead_ns;
  if (!own.is_known) origin_.time_namespace = own.name;
}

void Clock::take(double ticks_per_second, uint64_t origin) noexcept {
  scaled_ = true;
  ns_per_tick_ = 1e9 / ticks_per_second;
  origin_pair_.ticks = origin;
}

void Clock::calibrate() noexcept {
  constexpr uint64_t kLong_ns = 100'000'000;  // gives the rate to a millionth
  if (!counts_) return;
  const ClockPair now = read_pair();
  const bool is_long = origin_pair_.ns && now.ns > origin_pair_.ns + kLong_ns;
  const ClockPair& from = is_long ? origin_pair_ : first_pair;
  const uint64_t hz = counter_hz();
  if (!is_long && hz) {
    ns_per_tick_ = 1e9 / double(hz);  // a counter of 25 MHz is too coarse for this time
    return;
  }
  if (now.ns > from.ns + 1000 && now.ticks > from.ticks)
    ns_per_tick_ = double(now.ns - from.ns) / double(now.ticks - from.ticks);
}

std::string Clock::in_words() const {
  if (counts_ || asked_) return name();
  if (!has_constant_counter())
    return std::string(name()) + " (the processor reports no constant counter)";
  const std::string source = clocksource();
  return std::string(name()) + " (the kernel keeps time by " +
         (source.empty() ? "a clock that it does not name" : source) +
         ", not by the processor's counter; clock = \"counter\" takes that all the same)";
}

}  // namespace perfield
