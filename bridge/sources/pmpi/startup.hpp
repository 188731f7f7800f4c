// SPDX-License-Identifier: BSD-3-Clause
//
// startup.hpp - the beginning, the end and the switches of the measurement in a program of MPI,
// whatever the language of its calls. Each may be called again and does nothing then.
#pragma once

namespace perfield::pmpi {

// After MPI_Init: looks whether this is the MPI that we know, and starts to measure.
void begin() noexcept;

// Before MPI_Finalize ("finalize") or MPI_Abort ("abort"). Returns whether it was measuring.
bool end(const char* reason) noexcept;

// MPI_Pcontrol.
void control(int level) noexcept;

}  // namespace perfield::pmpi
