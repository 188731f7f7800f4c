// SPDX-License-Identifier: BSD-3-Clause
//
// calls.hpp - calls of MPI as Score-P tells of them: regions named MPI_*, each counted as the kind
// of call that perfield's own wrappers count it as. Where the wrappers are there, all is theirs.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/source.h"

namespace perfield::scorep {

// The call that this thread is inside. `stamp` is 0 where it is not measured.
struct OpenCall {
  bool is_open;
  perfield_call kind;
  uint32_t operations;  // on files, begun inside it: the outermost are MPI-IO's own
  uint64_t stamp, bytes_out, bytes_in;
};
extern __thread OpenCall open_call __attribute__((tls_model("initial-exec")));

inline constexpr perfield_call kNotCounted = perfield_call(0);

// Whether Score-P has told of a function of MPI while perfield slept: MPI_Init, before any other.
inline std::atomic<bool> mpi_is_told{false};
// All that Score-P tells of MPI is counted from here on.
void watch_mpi() noexcept;

// Whether a region of that name is a function of MPI.
bool is_of_mpi(const char* region) noexcept;

// The kind of call that it counts as; kNotCounted for those that the wrappers do not count, and if
// the wrappers are there. To be asked while perfield is awake.
perfield_call kind_of(const char* region) noexcept;

void enter_call(perfield_call kind) noexcept;
void leave_call() noexcept;

}  // namespace perfield::scorep
