// SPDX-License-Identifier: BSD-3-Clause
//
// otf2_events.hpp - functions as the library otf2 calls them for each event it reads, so that
// events reach a Follower without passing through Python. Built without that library: the types of
// its callbacks are stated here, as its interface has had them since version 2.0.
#pragma once

#include <cstdint>

namespace perfield {

using Otf2Callback = void (*)();

struct Otf2Event {
  const char* name;       // OTF2_GlobalEvtReaderCallbacks_Set<name>Callback takes it
  Otf2Callback callback;  // userData: the Follower
};

struct Otf2Events {
  const Otf2Event* first;
  int size;
};
Otf2Events otf2_events() noexcept;

}  // namespace perfield
