// SPDX-License-Identifier: BSD-3-Clause
//
// files.hpp - the plugin's file events, from programs built with scorep --io=... They count the
// program's own reads and writes, not MPI's internal ones and not those of Score-P's trace.
#pragma once

#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {

// Registers the functions of this file in the table of events.
void set_file_events(Event* events) noexcept;

// An MPI call begins: if this thread has an open operation, its end was lost.
void end_operation() noexcept;

}  // namespace perfield::scorep
