// SPDX-License-Identifier: BSD-3-Clause
//
// messages.hpp - the plugin's events of messages, collectives and one-sided transfers. Score-P
// tells of peers as they are numbered in a communicator or window whose members nobody tells, so
// they are world ranks on MPI_COMM_WORLD alone; all others are counted as unknown.
#pragma once

#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {

// Puts the functions of this file into their places in a table of events.
void set_message_events(Event* events) noexcept;

// MPI_Init is inside Score-P now, after which it tells of one collective on MPI_COMM_WORLD.
void initializing() noexcept;
// Another call of MPI begins, so MPI_Init is over.
void initialized() noexcept;

}  // namespace perfield::scorep
