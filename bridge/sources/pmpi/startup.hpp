// SPDX-License-Identifier: BSD-3-Clause
//
// startup.hpp - starts, ends and switches the measurement in an MPI program, whatever the language
// of its calls. A repeated call does nothing.
#pragma once

namespace perfield::pmpi {

// After MPI_Init: checks that this is the MPI that the wrappers are for, and starts measuring.
void begin() noexcept;

// Before MPI_Finalize ("finalize") or MPI_Abort ("abort"). Returns whether it was measuring.
bool end(const char* reason) noexcept;

// MPI_Pcontrol.
void control(int level) noexcept;

}  // namespace perfield::pmpi
