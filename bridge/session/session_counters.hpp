// SPDX-License-Identifier: BSD-3-Clause
//
// session_counters.hpp - which counters a run has, and what its user is told of those that it has
// not. Called under the session's lock.
#pragma once

#include "configuration/config.hpp"

namespace perfield {

// Those that the configuration asks for and this node can count.
void choose_counters(const Config& config);

// At the end: threads that were not counted, counts that are estimates.
void tell_of_counters();

}  // namespace perfield
