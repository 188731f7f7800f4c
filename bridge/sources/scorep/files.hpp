// SPDX-License-Identifier: BSD-3-Clause
//
// files.hpp - the plugin's events of the program's own reading and writing of files (a program
// built with scorep --io=...). What MPI reads and writes for itself is not the program's,
// nor is what Score-P writes of its trace.
#pragma once

#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {

// Puts the functions of this file into their places in a table of events.
void set_file_events(Event* events) noexcept;

// A call of MPI begins: an operation that this thread is inside has lost its end.
void end_operation() noexcept;

}  // namespace perfield::scorep
