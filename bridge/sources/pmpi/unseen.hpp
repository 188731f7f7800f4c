// SPDX-License-Identifier: BSD-3-Clause
//
// unseen.hpp - MPI calls that do not come through the wrappers: who makes them, found by looking at
// what is loaded. Off the hot path.
#pragma once

namespace perfield::pmpi {

// Whether that address belongs to an MPI library, not to wrappers of ours.
bool is_in_mpi(const void* address) noexcept;

// Set once the wrappers have seen MPI_Init.
extern bool saw_mpi_init;

// After MPI_Init: reports functions that the program itself puts before the wrappers, and
// extensions of its MPI that have none.
void warn_of_unseen_functions() noexcept;

}  // namespace perfield::pmpi
