// SPDX-License-Identifier: BSD-3-Clause
//
// events.cpp - see events.hpp. Most events repeat an earlier one of the same kind, call and peer:
// its number is one more, its channel and size are the same.
#include "format/events.hpp"

#include <cstring>

#include "format/varint.hpp"
#include "format/zigzag.hpp"

namespace perfield {
namespace {

// Stamps: 0 is an unknown one, 1 that of the event before; all others are a difference plus 2.
enum : uint64_t { kUnknown = 0, kAsBefore = 1, kDifference = 2 };

constexpr size_t kLeastBytes = 9;  // of a packed event

// The last event of the same kind, call and peer in this entry.
class Predecessors {
 public:
  // Notes event n as the last one of its kind; returns the one before, or nullptr.
  const LoggedEvent* replace(const LoggedEvent* events, uint32_t n) noexcept {
    const LoggedEvent& event = events[n];
    const uint64_t key = uint64_t(uint32_t(event.peer)) << 16 | event.call;
    uint32_t slot = uint32_t((key * 4 + (event.kind_and_flags & 3)) * 0x9E3779B97F4A7C15u >> 53);
    for (;; slot = (slot + 1) % kSlots) {
      const uint32_t found = of_[slot];
      if (found && !is_alike(events[found - 1], event)) continue;
      of_[slot] = uint16_t(n + 1);
      return found ? &events[found - 1] : nullptr;
    }
  }

 private:
  static constexpr uint32_t kSlots = 2048;
  static_assert(kSlots >= 2 * kMostEvents);
  static bool is_alike(const LoggedEvent& a, const LoggedEvent& b) noexcept {
    return a.peer == b.peer && a.call == b.call && a.kind() == b.kind();
  }
  uint16_t of_[kSlots] = {};
};

// What the stamps of an event are differences to.
struct Before {
  uint64_t begun, wait_begin = 0, wait_end = 0;  // begun: the last one that is known
  void take(const LoggedEvent& event) noexcept {
    if (event.begun) begun = event.begun;
    wait_begin = event.wait_begin;
    wait_end = event.wait_end;
  }
};

class Output {
 public:
  explicit Output(unsigned char* at) noexcept : at_(at) {}
  unsigned char* at() const noexcept { return at_; }
  void byte(unsigned value) noexcept { *at_++ = static_cast<unsigned char>(value); }
  void number(uint64_t value) noexcept { at_ = put_varint(at_, value); }
  void stamp(uint64_t value, uint64_t base, uint64_t before) noexcept {
    const uint64_t difference = zigzag(value - base);
    if (!value || difference > ~kDifference - 1)  // no clock runs so long
      number(kUnknown);
    else if (value == before)
      number(kAsBefore);
    else
      number(difference + kDifference);
  }

 private:
  unsigned char* at_;
};

class Input {
 public:
  Input(const unsigned char* at, size_t bytes) noexcept : at_(at), end_(at + bytes) {}
  bool is_at_end() const noexcept { return at_ == end_; }
  bool number(uint64_t* value) noexcept { return get_varint(&at_, end_, value); }
  bool difference(uint64_t base, uint64_t* value) noexcept {
    uint64_t code;
    if (!number(&code)) return false;
    *value = base + unzigzag(code);
    return true;
  }
  bool stamp(uint64_t base, uint64_t before, uint64_t* value) noexcept {
    uint64_t code;
    if (!number(&code)) return false;
    *value = code == kUnknown    ? 0
             : code == kAsBefore ? before
                                 : base + unzigzag(code - kDifference);
    return true;
  }

 private:
  const unsigned char *at_, *end_;
};

bool read_event(Input* in, Before* before, Predecessors* predecessors,
                std::vector<LoggedEvent>* events, uint32_t n) noexcept {
  LoggedEvent& event = (*events)[n];
  uint64_t kind_and_flags, call, peer, channel, number;
  const auto last_peer = n ? uint64_t(int64_t((*events)[n - 1].peer)) : 0;
  if (!in->number(&kind_and_flags) || !in->number(&call) || !in->difference(last_peer, &peer))
    return false;
  if (kind_and_flags > 0xFF || call > 0xFFFF) return false;
  event.kind_and_flags = uint8_t(kind_and_flags);
  event.call = uint16_t(call);
  event.peer = int32_t(peer);
  const LoggedEvent* like = predecessors->replace(events->data(), n);
  if (!in->difference(like ? like->channel : 0, &channel) ||
      !in->difference(like ? like->number : 0, &number) ||
      !in->difference(like ? like->bytes : 0, &event.bytes))
    return false;
  event.channel = uint32_t(channel);
  event.number = uint32_t(number);
  if (!in->stamp(before->begun, before->begun, &event.begun)) return false;
  const uint64_t begun = event.begun ? event.begun : before->begun;
  if (!in->stamp(begun, before->wait_begin, &event.wait_begin)) return false;
  const uint64_t since = event.wait_begin ? event.wait_begin : begun;
  if (!in->stamp(since, before->wait_end, &event.wait_end)) return false;
  before->take(event);
  return true;
}

}  // namespace

size_t pack_events(EventsStart start, const LoggedEvent* events, unsigned char* out) noexcept {
  Output to(out + sizeof start);
  Predecessors predecessors;
  Before before{start.origin_ns};
  int32_t last_peer = 0;
  for (uint32_t n = 0; n < start.n; ++n) {
    const LoggedEvent& event = events[n];
    const LoggedEvent* like = predecessors.replace(events, n);
    to.number(event.kind_and_flags);
    to.number(event.call);
    to.number(zigzag(uint64_t(int64_t(event.peer)) - uint64_t(int64_t(last_peer))));
    last_peer = event.peer;
    to.number(zigzag(uint64_t(event.channel) - (like ? like->channel : 0)));
    to.number(zigzag(uint64_t(event.number) - (like ? like->number : 0)));
    to.number(zigzag(event.bytes - (like ? like->bytes : 0)));
    to.stamp(event.begun, before.begun, before.begun);
    const uint64_t begun = event.begun ? event.begun : before.begun;
    to.stamp(event.wait_begin, begun, before.wait_begin);
    to.stamp(event.wait_end, event.wait_begin ? event.wait_begin : begun, before.wait_end);
    before.take(event);
  }
  start.packed_bytes = uint32_t(to.at() - out - sizeof start);
  memcpy(out, &start, sizeof start);
  while ((to.at() - out) % 8) to.byte(0);
  return size_t(to.at() - out);
}

bool unpack_events(const unsigned char* body, size_t bytes, EventsStart* start,
                   std::vector<LoggedEvent>* events) {
  events->clear();
  if (bytes < sizeof *start) return false;
  memcpy(start, body, sizeof *start);
  const size_t left = bytes - sizeof *start;
  if (start->packed_bytes > left || left - start->packed_bytes > 7 || start->n > kMostEvents ||
      start->n * kLeastBytes > left)
    return false;
  events->resize(start->n);
  Input in(body + sizeof *start, start->packed_bytes);
  Predecessors predecessors;
  Before before{start->origin_ns};
  for (uint32_t n = 0; n < start->n; ++n)
    if (!read_event(&in, &before, &predecessors, events, n)) return false;
  return in.is_at_end();
}

}  // namespace perfield
