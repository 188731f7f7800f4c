// SPDX-License-Identifier: BSD-3-Clause
//
// calls.h - the kinds of MPI call that are counted and their classes of time, from the one table
// calls.def.
#pragma once

#include <cstdint>

enum perfield_call : uint16_t {
#define PERFIELD_CALL(number, name, time_class, message) PERFIELD_CALL_##name = number,
#include "format/calls.def"
#undef PERFIELD_CALL
  PERFIELD_CALL_LIMIT = 128  // numbers stay below; the length of the recorder's tables
};

enum perfield_time_class : uint16_t {
  PERFIELD_CLASS_p2p = 0,
  PERFIELD_CLASS_wait = 1,
  PERFIELD_CLASS_collective = 2,
  PERFIELD_CLASS_onesided = 3,
  PERFIELD_CLASS_io = 4,
  PERFIELD_CLASS_other = 5
};

inline constexpr int kMpiClasses = 6;

struct perfield_time_classes {
  uint8_t of[PERFIELD_CALL_LIMIT] = {};
  constexpr perfield_time_classes() {
#define PERFIELD_CALL(number, name, time_class, message) of[number] = PERFIELD_CLASS_##time_class;
#include "format/calls.def"
#undef PERFIELD_CALL
  }
};
inline constexpr perfield_time_classes kTimeClassOfCall;

namespace perfield {

// Whether the call begins or ends an epoch of one-sided transfers between some origins and targets.
constexpr bool bounds_epoch(uint16_t call) noexcept {
  return call >= PERFIELD_CALL_win_start && call <= PERFIELD_CALL_win_wait;
}
// Whether it looks for a message that has come, and receives none.
constexpr bool is_probe(uint16_t call) noexcept {
  return call == PERFIELD_CALL_probe || call == PERFIELD_CALL_iprobe;
}
// Whether its rows are synchronisations: it waits for one partner, or lets it go on, and moves no
// message.
constexpr bool synchronises(uint16_t call) noexcept { return bounds_epoch(call) || is_probe(call); }
// Whether it locks or unlocks the windows of one or all ranks, or completes transfers in between.
constexpr bool is_of_lock(uint16_t call) noexcept {
  return call >= PERFIELD_CALL_lock && call <= PERFIELD_CALL_flush;
}
// Whether it transfers to or from the window of a rank.
constexpr bool is_transfer_of_window(uint16_t call) noexcept {
  return call >= PERFIELD_CALL_put && call <= PERFIELD_CALL_compare_and_swap;
}

}  // namespace perfield

// Whether messages may count under that call: it sends or fetches them.
struct perfield_message_calls {
  bool has[PERFIELD_CALL_LIMIT] = {};
  constexpr perfield_message_calls() {
#define PERFIELD_CALL(number, name, time_class, message) has[number] = #message[0] != 'n';
#include "format/calls.def"
#undef PERFIELD_CALL
  }
};
inline constexpr perfield_message_calls kMessageCalls;
