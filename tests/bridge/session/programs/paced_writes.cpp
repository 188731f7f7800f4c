// SPDX-License-Identifier: BSD-3-Clause
//
// paced_writes.cpp - feeds WritePace with steps and writes that only exist as numbers.
//   paced_writes STEPS STEP_MS BYTES_OF_ENTRY [FROM_STEP MS_OF_WRITE]...
// Prints writes, the time spent on them and in all (ms), the span at the end, and the most bytes
// that were gathered and the most steps that no write followed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "session/write_pace.hpp"

using perfield::WritePace;

int main(int argc, char** argv) {
  const long steps = atol(argv[1]);
  const double step_ms = atof(argv[2]);
  const size_t entry = size_t(atol(argv[3]));
  double now_ms = 1, spent_ms = 0, cost_ms = 0;
  long writes = 0, span = 1, waited = 0, longest = 0;
  size_t gathered = 0, most = 0;
  const auto ns = [](double ms) { return uint64_t(ms * 1e6); };
  WritePace pace;
  pace.start(ns(now_ms), false);
  for (long step = 0, at = 4; step < steps; ++step) {
    if (at + 1 < argc && step >= atol(argv[at])) {
      cost_ms = atof(argv[at + 1]);
      at += 2;
    }
    now_ms += step_ms;
    if ((step + 1) % span == 0) gathered += entry;
    most = std::max(most, gathered);
    longest = std::max(longest, ++waited);
    WritePace::Next next = pace.next(ns(now_ms), gathered);
    if (next == WritePace::Next::make_room) {
      pace.has_room(WritePace::kMostRoom);
      next = pace.next(ns(now_ms), gathered);
    }
    if (next == WritePace::Next::gather || !gathered) continue;
    pace.wrote(ns(now_ms), ns(now_ms + cost_ms));
    now_ms += cost_ms;
    spent_ms += cost_ms;
    ++writes;
    waited = 0;
    gathered = 0;
    if (pace.wants_longer_spans()) span *= 2;
  }
  printf("%ld %f %f %ld %zu %ld\n", writes, spent_ms, now_ms - 1, span, most, longest);
}
