// SPDX-License-Identifier: BSD-3-Clause
//
// communicators.hpp - names communicators, so that sender and receiver of a message mean the same
// one: a name follows from the parent's name and from how many children the parent had, which all
// its ranks know alike. Made once per communicator, under a lock; any thread.
#pragma once

#include <cstdint>

#include "library.hpp"

namespace perfield::pmpi {

// The name of a communicator whose making was not seen or is not collective over its parent
// (between groups, spawned, non-blocking).
inline constexpr uint32_t kNoName = 0;

// Call it in MPI_Init.
void prepare_names() noexcept;

uint32_t name_of(MPI_Comm comm) noexcept;

// A collective call on `parent` has made `child`, which may be MPI_COMM_NULL here.
void name_child(MPI_Comm parent, MPI_Comm child) noexcept;

}  // namespace perfield::pmpi
