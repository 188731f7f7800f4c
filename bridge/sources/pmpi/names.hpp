// SPDX-License-Identifier: BSD-3-Clause
//
// names.hpp - names communicators by numbers that are equal on all their ranks, without messages:
// a name follows from the ranks of a communicator and from how many with these ranks this process
// has made before, which all its ranks know alike. A communicator is named when it is made and
// described when it is first used, a Cartesian one already when it is made: most programs only ask
// it for neighbours, and send on another communicator. A duplicate has a name
// of its own. A window's name follows from that of its communicator. Any thread, under a lock.
#pragma once

#include "peers.hpp"

namespace perfield::pmpi {

// Of a communicator whose making was not seen, that joins ranks of several worlds, or that is one
// of too many.
inline constexpr uint32_t kNoName = 0;
inline constexpr uint32_t kNameOfWorld = 0x6E0CA5D1, kNameOfSelf = 0xB37F4E29;

// Call it in MPI_Init, after prepare_peers().
void prepare_names() noexcept;

// Names a communicator that has just been made, with these peers. comm: for an intercommunicator,
// whose own group it asks for.
void name_new(MPI_Comm comm, Peers* peers) noexcept;

// Describes a Cartesian communicator that has just been made and named. Programs often only ask it
// for neighbours, and never use it.
void describe_grid(MPI_Comm comm, const Peers* peers) noexcept;

// The name of the nth window that was made on the communicator of that name: an even number, while
// channels of messages are odd. kNoName if the communicator has none.
uint32_t name_of_window(uint32_t communicator, uint32_t nth) noexcept;
// Epochs begin on the channel of the window's name, and end on this one.
constexpr uint32_t end_of_epoch(uint32_t window) noexcept { return window ? window ^ 2 : kNoName; }

}  // namespace perfield::pmpi
