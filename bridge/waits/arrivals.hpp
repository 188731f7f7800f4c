// SPDX-License-Identifier: BSD-3-Clause
//
// arrivals.hpp - makes events of what streams hold: of the rows of step entries, and of the logs of
// logged steps. A row that counts one message or operation is exact, others give means.
#pragma once

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
              std::vector<Event>* events);

// The event of a log; its stamps stay those of its rank.
Event event_of(const LoggedEvent& logged, int64_t index, int32_t rank);

}  // namespace perfield::waits
