// SPDX-License-Identifier: BSD-3-Clause
//
// events.hpp - what ranks did in MPI, as analyses of waiting read it, and the wait states that they
// find. Events come from the logs of logged steps and from the rows of all other steps. Nothing
// here runs in measured programs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "format/calls.h"
#include "waits/memory.hpp"

namespace perfield::waits {

// A stamp or a time that is not known.
constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

// Stamps and steps of damaged files may be anything. What is too far apart for a number is so far
// apart as numbers can be, and a double of them is a number again.
constexpr int64_t kFarthest = int64_t{1} << 62;
inline int64_t difference(int64_t a, int64_t b) {
  int64_t found;
  if (__builtin_sub_overflow(a, b, &found)) return a < b ? -kFarthest : kFarthest;
  return std::clamp(found, -kFarthest, kFarthest);
}
inline int64_t earlier(int64_t stamp, int64_t n) {
  int64_t found;
  return __builtin_sub_overflow(stamp, n, &found) ? std::numeric_limits<int64_t>::min() : found;
}
inline int64_t later(int64_t stamp, int64_t n) {
  int64_t found;
  return __builtin_add_overflow(stamp, n, &found) ? std::numeric_limits<int64_t>::max() : found;
}

// Synchronisations are those of one-sided transfers, but for fences, which are collective; and
// probes that have found a message.
enum EventKind : uint8_t { kSend = 0, kReceive = 1, kCollective = 2, kSynchronisation = 3 };

enum EventFlag : uint8_t {
  kRoot = 1,          // of a collective: this rank was its root
  kSingle = 2,        // of a row with count 1, not of a log
  kMean = 4,          // of a row with a higher count: stamps are means, so they give bounds alone
  kWildcard = 8,      // of a receive: from any source or with any tag
  kOverflow = 16,     // this rank's log of this step lost events
  kExclusive = 32,    // of a lock
  kSeveralSteps = 64  // of a row: its entry adds up several steps
};

// One message at one end, one collective operation or synchronisation of one rank, or a row of
// several.
struct Event {
  int64_t step;      // the closed step in which it began
  int32_t rank;      // this end
  int32_t peer;      // the other end; -1 for collectives, and for locks of all ranks
  uint16_t call;     // calls.def; of a receive: the call that completed it, or recv
  uint8_t kind;      // EventKind
  uint8_t flags;     // EventFlag
  uint32_t channel;  // of messages; name of communicator (collectives), window; 0: not known
  uint32_t number;   // nth message of (sender, receiver, channel), nth collective, nth epoch of
                     // (origin, target, window); 0: not known
  uint32_t count;    // 1, or of the row
  uint32_t size;     // of the collective's communicator; 0: not known
  uint32_t most_in_call;  // of a row: how many of these one call completed, at most; 0: not known
  uint64_t bytes;         // of all its messages
  int64_t begun;          // ns: its call was entered; of a receive: it was posted
  int64_t wait_begin;     // ns: the call that blocked for it was entered
  int64_t wait_end;       // ns: and left
};
static_assert(sizeof(Event) == 72, "numpy's EVENT has the same layout");
using Events = LargeVector<Event>;

// Whether it waited for a message, which another event receives.
inline bool is_of_probe(const Event& event) {
  return event.kind == kSynchronisation && is_probe(event.call);
}

inline bool has_wait(const Event& event) {
  return event.wait_begin != kUnknown && event.wait_end != kUnknown &&
         event.wait_end >= event.wait_begin;
}

// Whether one call completed all that the event counts: a single event, or a row that shows it.
inline bool is_of_one_call(const Event& event) {
  if (event.count <= 1) return event.count == 1 && !(event.flags & kMean);
  return event.most_in_call >= event.count;
}

enum StateKind : uint8_t {
  kLateSender,
  kLateReceiver,
  kBarrier,
  kNToN,
  kLateBroadcast,  // or scatter: the root was late
  kEarlyReduce,    // or gather: the root was early
  kLateOneSided,
  kStateKinds
};

enum Exactness : uint8_t {
  kUncertain = 0,  // no longer than the clocks are uncertain
  kBound = 1,      // at least so long
  kExact = 2,
};

// Why blocked time is not explained.
enum Gap : uint8_t {
  kNoPartner,   // the other end is not known: it has no events, or the message no number
  kClash,       // events contradict each other: two have one number, or a wait ended too early
  kIncomplete,  // not all members of the collective are known
  kUnpaired,    // rows whose two ends do not count the same messages
  kEitherWay,   // only a rendezvous would have waited, and nothing shows whether it was one
  kNoHolder,    // no other rank is seen to hold the lock
  kOtherCall,   // no rule is known for whom the call waits
  kOnlySums,    // beyond a bound, sums of several messages show nothing
  kGaps
};

// How a message went, as far as its two ends show it.
enum Protocol : uint32_t {
  kProtocolUnknown = 0,
  kEager = 1,       // the send ended before the receive was posted
  kRendezvous = 2,  // the send lasted until the receive was posted
};

// One call in which a rank waited for another. A rank's calls never overlap, so states add up.
struct State {
  int64_t step;         // in which the rank waited
  int32_t rank;         // waits
  int32_t cause;        // the rank that it waited for; -1: not known
  uint8_t kind;         // StateKind
  uint8_t exactness;    // Exactness
  uint16_t call;        // of the event that waited
  uint32_t protocol;    // Protocol, of late receivers
  int64_t event;        // index of the event that waited
  int64_t cause_event;  // index of the event waited for, the likeliest where cause is -1; -1: none
  double time_ns;       // waited
  double uncertainty_ns;  // of time_ns
};
static_assert(sizeof(State) == 56, "numpy's STATE has the same layout");

}  // namespace perfield::waits
