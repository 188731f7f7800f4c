// SPDX-License-Identifier: BSD-3-Clause
//
// stolen_time.cpp - see stolen_time.hpp.
#include "platform/stolen_time.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace perfield {
namespace {

constexpr size_t kLine = 112;  // what the line of a CPU takes at most
constexpr int kStealColumn = 8;

bool is_virtual_machine() noexcept {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 31));
#else
  return true;  // nothing reports it without a driver
#endif
}

}  // namespace

int add_stolen_ticks(const char* stat, const CpuMask& cpus, uint64_t* ticks) noexcept {
  int n = 0;
  while (!strncmp(stat, "cpu", 3)) {
    char* at;
    const unsigned long cpu = strtoul(stat + 3, &at, 10);
    const bool is_one = at != stat + 3;  // the first line is the sum of all
    if (is_one && cpu / 8 < cpus.size() && (cpus[cpu / 8] >> (cpu % 8) & 1)) {
      uint64_t value = 0;
      for (int column = 1; column <= kStealColumn; ++column) value = strtoull(at, &at, 10);
      *ticks += value;
      ++n;
    }
    const char* const end = strchr(stat, '\n');
    if (!end) break;
    stat = end + 1;
  }
  return n;
}

bool StolenTime::find() {
  if (!is_virtual_machine()) return false;
  text_.resize(kLine * size_t(sysconf(_SC_NPROCESSORS_CONF) + 2));  // not the lines behind them
  return stat_.read("/proc/stat", text_.data(), text_.size()) > 0;
}

uint64_t StolenTime::stolen_ns(const CpuMask& cpus) noexcept {
  uint64_t ticks = 0;
  if (!stat_.read("/proc/stat", text_.data(), text_.size())) return uint64_t(stolen_ns_);
  const int n = add_stolen_ticks(text_.data(), cpus, &ticks);
  if (cpus == cpus_ && n > 0 && ticks > before_ticks_)
    stolen_ns_ += double(ticks - before_ticks_) / n * (1e9 / double(sysconf(_SC_CLK_TCK)));
  if (cpus != cpus_) cpus_ = cpus;
  before_ticks_ = ticks;
  return uint64_t(stolen_ns_);
}

}  // namespace perfield
