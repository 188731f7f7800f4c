// SPDX-License-Identifier: BSD-3-Clause
//
// call.hpp - one MPI call of the program as the injector sees it. The same names as those of
// perfield's wrappers, so that the generated wrappers and the Fortran conversions serve both; it
// counts nothing and reads no clock. On the thread that makes the call.
#pragma once

#include "format/calls.h"
#include "library.hpp"
#include "sizes.hpp"

namespace perfield::pmpi {

// The frame of a Fortran wrapper that is calling MPI, else nullptr: what MPI's own C functions then
// do, the Fortran wrapper does.
extern __thread const void* fortran_frame __attribute__((tls_model("initial-exec")));

// Whether latencies are injected into this call.
inline bool following() noexcept { return library.started && !fortran_frame; }

class Call {
 public:
  explicit Call(perfield_call, const void* /*caller*/ = nullptr,
                const void* frame = __builtin_frame_address(0)) noexcept {
    // A stale value: an error handler has left the Fortran wrapper by an exception or longjmp.
    if (frame >= fortran_frame) fortran_frame = nullptr;
  }
  bool follows(int result) const noexcept { return following() && result == MPI_SUCCESS; }
};

inline const NextFunctions& next(const Call&) noexcept { return next(); }

// A status to learn the sender from, also if the program ignores its status.
inline MPI_Status* own_if_ignored(MPI_Status* given, MPI_Status* own) noexcept {
  return given == MPI_STATUS_IGNORE && following() ? own : given;
}

}  // namespace perfield::pmpi
