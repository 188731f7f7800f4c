// SPDX-License-Identifier: BSD-3-Clause
//
// advice.hpp - warns users when something is lost because the plugin runs without perfield's
// wrappers. Each warning ends with the lines that fix it.
#pragma once

namespace perfield::scorep {

// Warns once that peers are unknown, since perfield's wrappers are missing.
void advise_wrappers() noexcept;

// Warns if the program calls functions of perfield.h. It cannot reach them: Score-P loads plugins
// and their libraries privately.
void look_for_calls_in_vain() noexcept;

}  // namespace perfield::scorep
