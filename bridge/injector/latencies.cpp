// SPDX-License-Identifier: BSD-3-Clause
//
// latencies.cpp - see latencies.hpp.
#include "latencies.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace perfield::injector {
namespace {

bool read_whole(int file, void* to, uint64_t bytes, uint64_t offset) noexcept {
  auto* place = static_cast<char*>(to);
  while (bytes) {
    const ssize_t n = pread(file, place, bytes, static_cast<off_t>(offset));
    if (n <= 0) return false;
    place += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<uint64_t>(n);
  }
  return true;
}

}  // namespace

const char* Latencies::read(const char* path, int rank) noexcept {
  constexpr unsigned long long kMost = 1ull << 28;
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);  // waits for no pipe
  if (file < 0) return "cannot be opened";
  char head[128] = "";
  const ssize_t got = pread(file, head, sizeof head - 1, 0);
  unsigned long long offset = 0, n_series = 0, n = 0;
  int repeats = 0;
  const bool is_trace = got > 0 && sscanf(head, "perfield-latencies 1 %llu %llu %llu %d\n", &offset,
                                          &n_series, &n, &repeats) == 4;
  const char* trouble = "";
  if (!is_trace || !n_series || !n || n > kMost) {
    trouble = "is not a trace of latencies of this version";
  } else if (auto* values = static_cast<uint32_t*>(malloc(n * sizeof *ns_)); !values) {
    trouble = "does not fit into memory";
  } else {
    const uint64_t series = static_cast<uint64_t>(rank) % n_series;
    if (read_whole(file, values, n * sizeof *ns_, offset + series * n * sizeof *ns_)) {
      ns_ = values;
      n_ = n;
      repeats_ = repeats != 0;
    } else {
      free(values);
      trouble = "is shorter than its first line says";
    }
  }
  close(file);
  return trouble;
}

}  // namespace perfield::injector
