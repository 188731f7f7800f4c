// SPDX-License-Identifier: BSD-3-Clause
//
// advice.hpp - what a user is told whose program runs with the plugin alone, and is the worse for
// it. Each sentence ends with the lines that mend it.
#pragma once

namespace perfield::scorep {

// Peers are not known, since perfield's wrappers are not there. Told once.
void advise_wrappers() noexcept;

// Looks whether the program calls functions of perfield.h, which Score-P hides from it: it loads
// plugins and what they need for themselves alone.
void look_for_calls_in_vain() noexcept;

}  // namespace perfield::scorep
