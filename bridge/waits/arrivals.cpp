// SPDX-License-Identifier: BSD-3-Clause
//
// arrivals.cpp - see arrivals.hpp.
#include "waits/arrivals.hpp"

#include <algorithm>
#include <limits>

#include "format/calls.h"
#include "format/peers.h"

namespace perfield::waits {
namespace {

// The mean of `count` stamps, from their sum. Sums wrap at 2^64; the distances of stamps to the
// begin of their step do not.
int64_t mean(uint64_t sum, uint64_t count, uint64_t begin) {
  if (count == 1) return int64_t(sum);
  return int64_t(begin + uint64_t(int64_t(sum - count * begin) / int64_t(count)));
}

template <class Row>
void add_event(const Row& row, uint32_t most_in_call, uint64_t begin, const RankClock& clock,
               Event event, Events* events) {
  if (row.count == 0 || row.count > uint64_t(std::numeric_limits<int64_t>::max())) return;
  if (!(row.begun_sum | row.wait_begin_sum | row.wait_end_sum)) return;  // no source of stamps
  const auto stamp = [&](uint64_t sum) {
    return sum ? clock.common(mean(sum, row.count, begin)) : kUnknown;
  };
  event.call = row.call;
  event.flags |= row.count == 1 ? kSingle : kMean;
  event.number = row.number;
  event.most_in_call = most_in_call;
  event.count = uint32_t(std::min<uint64_t>(row.count, std::numeric_limits<uint32_t>::max()));
  event.begun = stamp(row.begun_sum);
  event.wait_begin = stamp(row.wait_begin_sum);
  event.wait_end = stamp(row.wait_end_sum);
  events->push_back(event);
}

Event event_of(const LoggedEvent& logged, const RankClock& clock) {
  const auto common = [&](uint64_t stamp) {
    return stamp ? clock.common(int64_t(stamp)) : kUnknown;
  };
  Event event{};
  event.kind = uint8_t(logged.kind());
  const bool is_of_all =
      event.kind == kSynchronisation && is_of_lock(logged.call) && logged.peer == kEveryPeer;
  event.peer = event.kind == kCollective || is_of_all ? kCollectively
               : logged.peer < 0                      ? kUnknownPeer
                                                      : logged.peer;
  event.call = logged.call;
  event.flags = logged.flags() & (kRoot | kWildcard | kExclusive);
  event.channel = logged.channel;
  event.number = logged.number;
  event.count = 1;
  event.bytes = logged.bytes;
  event.begun = common(logged.begun);
  event.wait_begin = common(logged.wait_begin);
  event.wait_end = common(logged.wait_end);
  return event;
}

}  // namespace

void add_rows(const StepView& step, int64_t index, int32_t rank, const RankClock& clock,
              Events* events) {
  Event event{};
  event.step = index;
  event.rank = rank;
  for (const MessageRow row : step.messages) {
    if (row.peer == rank) continue;  // messages to oneself never wait for others
    event.peer = row.peer < 0 ? kUnknownPeer : row.peer;
    event.kind = row.call == PERFIELD_CALL_recv ? kReceive : kSend;
    event.channel = row.channel;
    event.bytes = row.bytes;
    add_event(row, row.most_in_call, step.fixed.begin_ns, clock, event, events);
  }
  event.bytes = 0;
  event.kind = kSynchronisation;
  for (const SynchronisationRow row : step.synchronisations) {
    if (row.peer == rank) continue;
    event.peer = row.peer < 0 ? kUnknownPeer : row.peer;
    event.channel = row.channel;
    add_event(row, 1, step.fixed.begin_ns, clock, event, events);  // a call has each partner once
  }
  event.peer = kCollectively;
  event.kind = kCollective;
  for (const CollectiveRow row : step.collectives) {
    event.flags = row.flags & 1 ? kRoot : 0;
    event.channel = row.communicator;
    event.bytes = row.bytes_out + row.bytes_in;
    add_event(row, row.most_in_call, step.fixed.begin_ns, clock, event, events);
  }
}

void add_logged(const std::vector<LoggedEvent>& logged, int64_t index, int32_t rank,
                const RankClock& clock, Events* events) {
  for (const LoggedEvent& one : logged) {
    if (one.peer == rank && one.kind() <= perfield::EventKind::receive) continue;
    Event event = event_of(one, clock);
    event.step = index;
    event.rank = rank;
    events->push_back(event);
  }
}

}  // namespace perfield::waits
