// SPDX-License-Identifier: BSD-3-Clause
//
// messages.hpp - brings the two ends of each message together, by its sender, receiver, channel and
// number. One thread at a time; throws only std::bad_alloc.
#pragma once

#include <array>
#include <cstdint>

#include "format/calls.h"
#include "waits/events.hpp"
#include "waits/groups.hpp"
#include "waits/memory.hpp"

namespace perfield::waits {

// Which end of a message an event is, a post and a complete counted as messages, too; kCollective:
// neither. A probe is on the receiver's side, but no end.
inline EventKind end_of(const Event& event) {
  if (event.kind != kSynchronisation) return EventKind(event.kind);
  if (!bounds_epoch(event.call)) return kCollective;
  const bool sends =
      event.call == PERFIELD_CALL_win_post || event.call == PERFIELD_CALL_win_complete;
  return sends ? kSend : kReceive;
}

// Who sent a message, and who received it.
struct Way {
  int32_t sender, receiver;
  // event: one end of a message.
  explicit Way(const Event& event) : Way(event, end_of(event) == kSend) {}
  uint64_t word() const { return uint64_t(uint32_t(sender)) << 32 | uint32_t(receiver); }

 private:
  Way(const Event& event, bool sends)
      : sender(sends ? event.rank : event.peer), receiver(sends ? event.peer : event.rank) {}
};

// Ends: what is known of a message; at first Ends().
template <typename Ends>
class MessageTable {
 public:
  explicit MessageTable(Arena& arena) : blocks_(arena), ends_(arena) {}

  // Of the message that has this end; valid until the next call.
  Ends& of(const Event& end) {
    const uint32_t block =
        blocks_.of({Way(end).word(), uint64_t(end.channel) << 32 | end.number / kOfBlock});
    if (block == ends_.size()) ends_.emplace_back();
    return ends_[block][end.number % kOfBlock];
  }

  // Calls take(ends) for each message, and for some of which nothing is known.
  template <typename Take>
  void for_each(Take take) const {
    for (const Block& block : ends_)
      for (const Ends& ends : block) take(ends);
  }

 private:
  // Messages whose numbers follow one another are met at nearly the same time, so they lie
  // together.
  static constexpr uint32_t kOfBlock = 8;
  using Block = std::array<Ends, kOfBlock>;
  Groups blocks_;
  ArenaVector<Block> ends_;
};

}  // namespace perfield::waits
