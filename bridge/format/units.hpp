// SPDX-License-Identifier: BSD-3-Clause
//
// units.hpp - the units that quantities may be added in, and how each is stored and shown.
#pragma once

#include <string_view>

namespace perfield {

struct Unit {
  const char* added;   // what a source adds
  const char* stored;  // what a row of the stream holds
  const char* shown;   // what a field holds
  const char* suffix;  // the end of the field's name
  double factor;       // from stored to shown
};

inline constexpr Unit kUnits[] = {
    {"1", "1", "1", "", 1},
    {"B", "B", "B", "_bytes", 1},
    {"ticks", "ns", "s", "_s", 1e-9},  // of perfield's clock
    {"ns", "ns", "s", "_s", 1e-9},
    {"uJ", "uJ", "J", "_J", 1e-6},
    {"ppm", "ppm", "1", "_share", 1e-6},
};

// The unit of that name; nullptr if there is none.
constexpr const Unit* find_unit(std::string_view added) noexcept {
  for (const Unit& unit : kUnits)
    if (added == unit.added) return &unit;
  return nullptr;
}

}  // namespace perfield
