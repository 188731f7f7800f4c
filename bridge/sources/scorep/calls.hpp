// SPDX-License-Identifier: BSD-3-Clause
//
// calls.hpp - counts MPI calls from Score-P's events: regions named MPI_*, as the same kind of call
// as perfield's wrappers. If the wrappers are loaded, they count and this does not.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/source.h"

namespace perfield::scorep {

// The open call of this thread. `stamp` is 0 if it is not measured.
struct OpenCall {
  bool is_open;
  perfield_call kind;
  uint32_t operations;  // file operations open inside it; the outermost belong to MPI-IO
  uint64_t stamp, bytes_out, bytes_in;
};
extern __thread OpenCall open_call __attribute__((tls_model("initial-exec")));

inline constexpr perfield_call kNotCounted = perfield_call(0);

// Whether Score-P reported an MPI function before perfield started: MPI_Init, before any other.
inline std::atomic<bool> mpi_is_seen{false};
// From here on, Score-P's MPI events are counted.
void watch_mpi() noexcept;

// Whether a region of that name is an MPI function.
bool is_of_mpi(const char* region) noexcept;

// The kind of call; kNotCounted if the wrappers do not count it, or if they are loaded. Call only
// while perfield is awake.
perfield_call kind_of(const char* region) noexcept;

void enter_call(perfield_call kind) noexcept;
void leave_call() noexcept;

}  // namespace perfield::scorep
