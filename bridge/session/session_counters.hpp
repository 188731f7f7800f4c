// SPDX-License-Identifier: BSD-3-Clause
//
// session_counters.hpp - chooses the counters of a run, and reports the missing ones to the user.
// Called under the session's lock.
#pragma once

#include "configuration/config.hpp"

namespace perfield {

// The counters that the configuration asks for and this node can count.
void choose_counters(const Config& config);

// At the end: reports threads that were not counted, and counts that are estimates.
void warn_of_counters();

}  // namespace perfield
