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
