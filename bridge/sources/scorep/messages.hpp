// SPDX-License-Identifier: BSD-3-Clause
//
// messages.hpp - the plugin's events of messages, collectives and one-sided transfers. Score-P
// numbers peers within a communicator or window but does not report its members. So peers are world
// ranks only on MPI_COMM_WORLD; all others count as unknown.
#pragma once

#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {

// Registers the functions of this file in the table of events.
void set_message_events(Event* events) noexcept;

// MPI_Init is now inside Score-P, which next reports one collective on MPI_COMM_WORLD.
void initializing() noexcept;
// Another call of MPI begins, so MPI_Init is over.
void initialized() noexcept;

}  // namespace perfield::scorep
