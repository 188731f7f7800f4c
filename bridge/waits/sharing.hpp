// SPDX-License-Identifier: BSD-3-Clause
//
// sharing.hpp - which events one call may have blocked for together: their waiting is that of the
// call, which counts once.
#pragma once

#include <cstdint>

#include "format/calls.h"
#include "waits/events.hpp"

namespace perfield::waits {

inline bool only_starts(uint16_t call) {
  return call == PERFIELD_CALL_isend || call == PERFIELD_CALL_ibsend ||
         call == PERFIELD_CALL_issend || call == PERFIELD_CALL_irsend;
}

// Whether the call that blocks for the event may block for others at the same time.
inline bool may_share_its_call(const Event& event) {
  if (event.kind == kReceive) return true;
  // MPI completed it at once, in the call that started it.
  if (event.kind == kSend && only_starts(event.call) && event.begun == event.wait_begin)
    return false;
  if (event.kind == kSynchronisation) return bounds_epoch(event.call);
  if (event.kind == kCollective)
    return (event.call >= PERFIELD_CALL_ibarrier && event.call <= PERFIELD_CALL_iexscan) ||
           event.call == PERFIELD_CALL_persistent_collective;
  return event.call > PERFIELD_CALL_rsend && !is_transfer_of_window(event.call);
}

// Messages and requests share calls, and so do partners of one-sided transfers.
enum Sharing : uint8_t { kAmongMessages, kAmongPartners, kSharings };
inline Sharing sharing_of(const Event& event) {
  return event.kind == kSynchronisation ? kAmongPartners : kAmongMessages;
}

inline bool is_message_end(const Event& event) { return event.kind < kCollective; }

inline bool is_mean(const Event& event) { return (event.flags & kMean) || event.count != 1; }

// Whether the event is a row of several messages for which one call blocked: a call like others,
// but for the partner's stamps, of which only the mean is known.
inline bool is_row_of_call(const Event& event) {
  return is_mean(event) && is_message_end(event) && may_share_its_call(event) &&
         is_of_one_call(event) && has_wait(event);
}

}  // namespace perfield::waits
