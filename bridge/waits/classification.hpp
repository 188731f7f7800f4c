// SPDX-License-Identifier: BSD-3-Clause
//
// classification.hpp - how each event is classified on its own: did its call wait, and how late was
// the other end?
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "format/calls.h"
#include "format/peers.h"
#include "waits/clocks.hpp"
#include "waits/events.hpp"
#include "waits/sharing.hpp"

namespace perfield::waits {

inline constexpr double kNever = -std::numeric_limits<double>::infinity();
using Index = uint32_t;  // of an event; in place of that of the other end of a message:
inline constexpr Index kUnmatched = UINT32_MAX, kClashing = UINT32_MAX - 1;

// Smaller shares of a wait decide neither its kind nor whether it is exact.
inline constexpr double kClearly = 0.05;

inline bool is_buffered(uint16_t call) {
  return call == PERFIELD_CALL_bsend || call == PERFIELD_CALL_ibsend;
}

inline bool is_synchronous(uint16_t call) {
  return call == PERFIELD_CALL_ssend || call == PERFIELD_CALL_issend;
}

// Whether its rank is known; others are left out.
inline bool is_usable(const Event& event, const Clocks& clocks) {
  return clocks.has(event.rank) && event.kind <= kSynchronisation;
}

// Whether it is one end of a message, or a row of several, between known ranks.
inline bool is_message(const Event& event, const Clocks& clocks) {
  return is_usable(event, clocks) && is_message_end(event) && clocks.has(event.peer) &&
         !is_transfer_of_window(event.call);
}

// What one event shows of the wait in its call.
struct Classification {
  enum Waits : uint8_t { kNone, kYes, kIfRendezvous };  // kNone: or not known

  double lateness = kNever;  // of the cause, after the call was entered; at most until it was left
  double uncertainty = 0;
  Index cause_event = kUnmatched;
  int32_t cause = -1;
  uint8_t kind = kLateSender;
  uint8_t gap = kNoPartner;
  uint8_t known = 0;  // Exactness; 0: nothing, for the reason that gap says
  Waits waits = kNone;
  bool is_cause_sure = false;
  bool was_eager = false;

  void is_unknown(Gap reason) {
    *this = Classification();
    gap = reason;
  }
  void waits_for_nobody() {
    *this = Classification();
    known = kExact;
  }
};

}  // namespace perfield::waits
