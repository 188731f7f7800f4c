// SPDX-License-Identifier: BSD-3-Clause
//
// arrivals.hpp - makes events of what streams hold: of the rows of step entries, and of the logs of
// logged steps. A row that counts one message or operation is exact, others give means.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "format/decode.hpp"
#include "format/events.hpp"
#include "waits/events.hpp"

namespace perfield::waits {

constexpr int32_t kCollectively = -1, kUnknownPeer = -3;

// How stamps of one rank become times on the run's common clock.
struct RankClock {
  double shift_ns, drift;  // shift NaN: not known

  int64_t common(int64_t stamp) const {
    if (std::isnan(shift_ns)) return kUnknown;
    return stamp + int64_t(shift_ns) + (drift == 0 ? 0 : std::llrint(double(stamp) * drift));
  }
};

// Appends an event for each row of the entry that has stamps, but for those about this rank itself.
void add_rows(const StepView& step, int64_t index, int32_t rank, const RankClock& clock,
              Events* events);

// The entries of a rank's log of one step, added up.
struct Log {
  uint64_t found = 0, all = 0, lost = 0;  // events: read, logged, and those that found no room

  void add(const EventsStart& start) {
    found += start.n;
    all = std::max<uint64_t>(all, start.all);
    lost = std::max(lost, start.lost);
  }
  bool is_whole() const { return lost == 0 && found >= all; }
};

// Appends the events of a log's entry, but for messages to oneself.
void add_logged(const std::vector<LoggedEvent>& logged, int64_t index, int32_t rank,
                const RankClock& clock, Events* events);

}  // namespace perfield::waits
