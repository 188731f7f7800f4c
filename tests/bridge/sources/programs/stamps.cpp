// SPDX-License-Identifier: BSD-3-Clause
//
// stamps.cpp - time stamps of CLOCK_MONOTONIC_RAW, read beside a clock of perfield's that is so
// many nanoseconds ahead of it, and runs a thousandth faster. Prints by how many nanoseconds the
// times of 1000 events are wrong, at most, once there were 100.
#include "sources/scorep/stamps.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

static uint64_t raw_ns = 1'000'000'000'000;
static uint64_t ahead_ns;

static uint64_t own_ticks() { return raw_ns + ahead_ns + (raw_ns - 1'000'000'000'000) / 1000; }

extern "C" int clock_gettime(clockid_t, timespec* time) noexcept {
  time->tv_sec = time_t(raw_ns / 1'000'000'000);
  time->tv_nsec = long(raw_ns % 1'000'000'000);
  return 0;
}

uint64_t perfield_source_ticks() noexcept { return own_ticks(); }

int main(int, char** arguments) {
  ahead_ns = strtoull(arguments[1], nullptr, 10);
  perfield::scorep::Stamps stamps;
  uint64_t worst = 0;
  for (int event = 0; event < 1000; ++event) {
    raw_ns += 1'000'000;
    const uint64_t stamp = raw_ns, wanted = own_ticks();
    raw_ns += 100;  // until the event is reported
    const uint64_t found = stamps.ticks(stamp);
    if (event >= 100 && found)
      worst = std::max(worst, found > wanted ? found - wanted : wanted - found);
  }
  std::printf("%llu\n", static_cast<unsigned long long>(worst));
}
