// SPDX-License-Identifier: BSD-3-Clause
//
// transfers.hpp - how long calls lasted once nobody was late any more: what messages and collective
// operations themselves take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "waits/events.hpp"

namespace perfield::waits {

// A blocking call of a rank, or a collective operation, whose partners are all known.
struct Transfer {
  int64_t step;      // of the call
  int32_t rank;      // in the call
  int32_t partner;   // who came last: sent, posted its receive, entered the operation
  uint16_t call;     // calls.def; of messages, that of the last one
  uint8_t kind;      // EventKind, of that message
  uint8_t is_alone;  // all of one transfer is seen, and nothing else
  uint32_t n;        // messages of the call, received or sent, whichever are more bytes; or ranks
  uint64_t bytes;    // of these messages, or of the operation
  uint64_t last_bytes;  // of the message that came last
  double time_ns;       // from when all partners, and the rank, were there, until the call was left
};

// One row for each call in which all messages are matched, and for each rank that a collective
// operation of known members keeps, in the order of events. Rows of several messages, tests,
// one-sided transfers, messages among collective operations and what does not block are left out. A
// send that ended before its receive was posted kept nobody.
std::vector<Transfer> find_transfers(const Event* events, size_t n_events);

}  // namespace perfield::waits
