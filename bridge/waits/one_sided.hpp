// SPDX-License-Identifier: BSD-3-Clause
//
// one_sided.hpp - which rank each synchronisation of one-sided transfers may have waited for: the
// target that had not posted, the origin that had not completed, or the holder of a lock. The terms
// are those of Scalasca's pattern documentation. Fences are collective operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "format/calls.h"
#include "waits/clocks.hpp"
#include "waits/events.hpp"

namespace perfield::waits {

// An epoch begins on the channel of its window and ends on this one.
constexpr uint32_t other_end_of_epoch(uint32_t channel) { return channel ^ 2; }

inline bool is_of_window(const Event& event) {
  return (event.kind == kSynchronisation && !is_of_probe(event)) ||
         (event.kind == kSend && is_transfer_of_window(event.call));
}

// What is known of one event.
struct InWindow {
  enum Answer : uint8_t {
    kNobody,      // it never waits
    kLate,        // it waited for the event `late`, if that began later
    kLateOrLeft,  // the same, but it may have left before: then it waited for nobody
    kNoAnswer     // for the reason `gap`
  };
  size_t event;
  int64_t late = -1;
  Answer answer = kNoAnswer;
  Gap gap = kNoPartner;
  bool is_sure = true;    // that the rank of `late` was the last one
  bool is_bound = false;  // somebody else may have been later
};

// The synchronisations and transfers among the events, in no order; of transfers only those that
// waited. MPIs wait for a post in MPI_Win_start, in a transfer or in
// MPI_Win_complete, and for a lock in MPI_Win_lock, or in the first call under it that needs it.
// of_windows: the events for which is_of_window holds, of known ranks; rows of several left out.
std::vector<InWindow> waits_in_windows(const Event* events, const uint32_t* of_windows, size_t n,
                                       const Clocks& clocks);

}  // namespace perfield::waits
