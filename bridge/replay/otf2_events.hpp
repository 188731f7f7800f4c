// SPDX-License-Identifier: BSD-3-Clause
//
// otf2_events.hpp - the functions that the otf2 library calls for each event it reads, so that
// events reach a Follower without passing through Python. Compiles without that library: it
// declares the types of the callbacks itself, as in the library's interface since version 2.0.
#pragma once

#include <cstdint>

namespace perfield {

using Otf2Callback = void (*)();

struct Otf2Event {
  const char* name;       // name in OTF2_GlobalEvtReaderCallbacks_Set<name>Callback
  Otf2Callback callback;  // userData: the Follower
};

struct Otf2Events {
  const Otf2Event* first;
  int size;
};
Otf2Events otf2_events() noexcept;

}  // namespace perfield
