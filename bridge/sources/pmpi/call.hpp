// SPDX-License-Identifier: BSD-3-Clause
//
// call.hpp - one wrapped MPI call from entry to return, on the thread that makes it: it reads the
// clock twice, and the rules count in between.
#pragma once

#include "library.hpp"
#include "recorder/source.h"

namespace perfield::pmpi {

// The frame of a Fortran wrapper that is calling MPI, else nullptr. MPI may implement the call with
// its C functions; the Fortran wrapper then follows the requests that those begin and end.
extern __thread const void* fortran_frame __attribute__((tls_model("initial-exec")));

// Whether to follow requests and messages of this call, also while measuring is paused.
inline bool following() noexcept { return library.awake && !fortran_frame; }

class Call {
 public:
  // caller and frame belong to the wrapper that makes the object.
  explicit Call(perfield_call kind, const void* caller = __builtin_return_address(0),
                const void* frame = __builtin_frame_address(0)) noexcept
      : Call(kind, enter(kind, caller, frame)) {}
  ~Call() {
    if (entered) perfield_call_leave(kind, entered, bytes_out, bytes_in);
    if (after_) perfield_call_after(after_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Whether to count what the call did.
  bool counts(int result) const noexcept { return entered && result == MPI_SUCCESS; }
  bool follows(int result) const noexcept { return following() && result == MPI_SUCCESS; }

  const uint64_t entered;
  const perfield_call kind;
  uint64_t bytes_out = 0, bytes_in = 0;

 private:
  static perfield_entered enter(perfield_call kind, const void* caller,
                                const void* frame) noexcept {
    // A stale value, because its frame is no longer below us: an error handler left the Fortran
    // wrapper by an exception or longjmp.
    if (frame >= fortran_frame) fortran_frame = nullptr;
    if (!library.awake) return {0, 0};
    const perfield_entered begun = perfield_call_enter(kind, following() ? caller : nullptr, frame);
    if (begun.stamp) fortran_frame = nullptr;
    return begun;
  }
  Call(perfield_call kind, perfield_entered begun) noexcept
      : entered(begun.stamp), kind(kind), after_(begun.after) {}
  const uint64_t after_;
};

// A status to learn the sender from, also if the program ignores its status.
inline MPI_Status* own_if_ignored(MPI_Status* given, MPI_Status* own) noexcept {
  return given == MPI_STATUS_IGNORE && following() ? own : given;
}

// Bytes of `count` items, without the gaps of derived types.
inline uint64_t bytes_of(MPI_Count count, MPI_Datatype type) noexcept {
  MPI_Count size = 0;
  if (count <= 0 || library.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return static_cast<uint64_t>(count) * static_cast<uint64_t>(size);
}

// Bytes received.
inline uint64_t bytes_of(const MPI_Status& status) noexcept {
  MPI_Count bytes = 0;
  library.Get_elements_x(&status, library.byte, &bytes);
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

}  // namespace perfield::pmpi
