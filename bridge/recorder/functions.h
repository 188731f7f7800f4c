// SPDX-License-Identifier: BSD-3-Clause
//
// functions.h - what sources ask that see every function of a program, not only the regions that it
// marks: which functions are regions, and the regions themselves. Not on the hot path.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

// 1 if the configuration may choose any function at all, else 0.
int perfield_source_follows_functions() noexcept;
// The region that a function is, given its symbol: its name as the configuration's `regions` or
// `step_region` have it, or NULL. The text is the caller's to free.
char* perfield_source_function(const char* symbol) noexcept;
// The handle of that region, at its first entry: this also starts measuring in a program in which
// no wrapped MPI_Init is going to.
uint32_t perfield_source_function_entered(const char* name) noexcept;
// The region of a function, for a tool that tells of functions while they run, which its user has
// chosen already: for perfield_region_begin, defined if it is new. 0 if the configuration has no
// name of it in `regions`, where a lone "*" chooses it, too, nor as `step_region`, and this thread
// has not armed its next one. To be asked once per function, while awake. Locks.
// name: as it is read, with or without arguments; symbol: as in the program file, or NULL; file may
// be NULL.
uint32_t perfield_source_function_region(const char* name, const char* symbol, const char* file,
                                         int line) noexcept;

}  // extern "C"
#pragma GCC visibility pop
