// SPDX-License-Identifier: BSD-3-Clause
//
// events.hpp - the body of an `events` entry: what one rank did with each message, collective
// operation and synchronisation of a window in a logged step. docs/stream.md states the form.
// Packing runs on the thread that closes the step and never allocates; unpacking never reads out of
// bounds, whatever the bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfield {

enum class EventKind : uint8_t { send = 0, receive = 1, collective = 2, synchronisation = 3 };
enum EventFlags : uint8_t { kEventRoot = 1, kEventWildcard = 8, kEventExclusive = 32 };

// In the recorder's log, stamps are ticks; in a stream, ns on the rank's clock.
struct LoggedEvent {
  uint64_t begun, wait_begin, wait_end;  // 0: not known
  uint64_t bytes;
  uint32_t channel;  // of a collective operation: the communicator's name
  uint32_t number;
  int32_t peer;  // -1: of a collective operation, or a lock of all ranks
  uint16_t call;
  uint8_t kind_and_flags;  // EventKind, and EventFlags shifted by 2
  uint8_t thread;          // in the log only: which thread has begun it

  EventKind kind() const noexcept { return EventKind(kind_and_flags & 3); }
  uint8_t flags() const noexcept { return uint8_t(kind_and_flags >> 2); }
};
static_assert(sizeof(LoggedEvent) == 48);

// Opens the body; the packed events follow.
struct EventsStart {
  uint32_t n, first, all;  // events of this entry, the number of the first one, those of the step
  uint32_t packed_bytes;   // of the events
  uint64_t lost;           // events of the step that found no room
  uint64_t lost_begin_ns, lost_end_ns;  // when the first of those began, the last ended
  uint64_t origin_ns;                   // what the first stamp is a difference to
};
static_assert(sizeof(EventsStart) == 48);

inline constexpr uint32_t kMostEvents = 1024;  // of an entry
// Bytes that a body may take.
inline constexpr size_t kMostBytesOfEvents = sizeof(EventsStart) + 80 * kMostEvents + 8;

// Packs start.n events, whose stamps are ns, at `out`, which has kMostBytesOfEvents. Returns the
// bytes used, a multiple of 8.
size_t pack_events(EventsStart start, const LoggedEvent* events, unsigned char* out) noexcept;

// False if the bytes are no such body. Throws only std::bad_alloc.
bool unpack_events(const unsigned char* body, size_t bytes, EventsStart* start,
                   std::vector<LoggedEvent>* events);

}  // namespace perfield
