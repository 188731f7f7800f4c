// SPDX-License-Identifier: BSD-3-Clause
//
// collectives.hpp - which ranks of a collective operation wait for which.
#pragma once

#include "waits/events.hpp"

namespace perfield::waits {

enum class Pattern : uint8_t { kNone, kAllToAll, kOneToAll, kAllToOne };

struct Collective {
  Pattern pattern;
  StateKind kind;
};

Collective collective_of(uint16_t call);

}  // namespace perfield::waits
