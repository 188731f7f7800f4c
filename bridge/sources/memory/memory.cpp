// SPDX-License-Identifier: BSD-3-Clause
//
// memory.cpp - libperfield_memory.so: reads the largest resident memory that the process ever had,
// from procfs, when a step closes.

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "platform/kept_file.hpp"
#include "recorder/source.h"
#include "sources/now.hpp"

namespace {

constexpr const char* kSource = "memory";
constexpr uint64_t kReadEvery_ns = 10'000'000;

perfield_quantity peak;

// VmHWM in bytes; 0 if it cannot be read.
uint64_t read_peak() noexcept {
  static perfield::KeptFile status;
  char text[4096];
  status.read("/proc/self/status", text, sizeof text);
  const char* line = strstr(text, "\nVmHWM:");
  return line ? strtoull(line + strlen("\nVmHWM:"), nullptr, 10) * 1024 : 0;  // the file has kB
}

void before_close() {
  static uint64_t read_ns = 0, bytes = 0;
  const uint64_t now = perfield::now_ns();
  if (!bytes || now - read_ns >= kReadEvery_ns) {
    perfield_own_begin();  // keeps this read out of the program's I/O
    const uint64_t found = read_peak();
    if (found > bytes) bytes = found;  // the kernel's own figure may fall by a few pages
    perfield_own_end();
    read_ns = now;
  }
  if (bytes) perfield_quantity_set(peak, bytes);
}

__attribute__((constructor)) void announce() {
  perfield_source_present(kSource);
  peak = perfield_quantity_define("resident_peak", "B", PERFIELD_PER_RANK, PERFIELD_STEPS_MAX,
                                  PERFIELD_THREADS_MAX,
                                  "largest resident memory of the process so far (sampled at most "
                                  "every 10 ms)");
  perfield_source_before_close(before_close);
}

}  // namespace
