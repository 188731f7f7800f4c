// SPDX-License-Identifier: BSD-3-Clause
//
// call.hpp - one wrapped MPI call from entry to return, on the thread that makes it: it reads the
// clock twice, and the rules count in between.
#pragma once

#include "library.hpp"
#include "recorder/source.h"
#include "sizes.hpp"

namespace perfield::pmpi {

// The frame of a Fortran wrapper that is calling MPI, else nullptr. MPI may implement the call with
// its C functions; the Fortran wrapper then follows the requests that those begin and end.
extern __thread const void* fortran_frame __attribute__((tls_model("initial-exec")));

// Whether to follow requests and messages of this call, also while measuring is paused.
inline bool following() noexcept { return library.started && !fortran_frame; }

class Call {
 public:
  // caller and frame belong to the wrapper that makes the object.
  [[gnu::always_inline]] explicit Call(perfield_call kind,
                                       const void* caller = __builtin_return_address(0),
                                       const void* frame = __builtin_frame_address(0)) noexcept
      : Call(kind, enter(kind, caller, frame)) {}
  [[gnu::always_inline]] ~Call() {
    if (entered) leave();
    if (__builtin_expect(after_ != 0, 0)) perfield_call_after(after_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Whether to count what the call did.
  bool counts(int result) const noexcept { return entered && result == MPI_SUCCESS; }
  bool follows(int result) const noexcept { return follows() && result == MPI_SUCCESS; }
  // Whether to follow its requests and messages.
  bool follows() const noexcept { return entered || following(); }

  // Leaves the call now: it looked for what has come, and found nothing. Call nothing after it.
  void leave_unanswered() noexcept {
    if (entered) perfield_call_unanswered(kind, entered);
    entered = 0;
  }
  // Whether perfield looks for steps among the collective operations of all ranks of the world; and
  // that this is one.
  bool asks_of_all() const noexcept {
    return __builtin_expect((after_ & PERFIELD_AFTER_ASKS) != 0, 0);
  }
  void is_of_all() noexcept { after_ |= perfield_call_of_all(); }
  // Since when the program has waited for what this test or probe has found; 0: not measured.
  uint64_t polled_since() const noexcept { return entered ? entered - perfield_polled() : 0; }

  uint64_t entered;
  const perfield_call kind;
  uint64_t bytes_out = 0, bytes_in = 0;
  uint64_t left = 0;  // stamp of the return; 0: not read yet

 private:
  [[gnu::always_inline]] static perfield_entered enter(perfield_call kind, const void* caller,
                                                       const void* frame) noexcept {
    if (__builtin_expect(fortran_frame != nullptr, 0)) return enter_below(kind, caller, frame);
    if (!library.started) return inactive();
    return perfield_call_enter(kind, caller, frame);
  }
  static perfield_entered inactive() noexcept {
    pmpi::next();
    return {0, 0};
  }
  [[gnu::noinline]] static perfield_entered enter_below(perfield_call kind, const void* caller,
                                                        const void* frame) noexcept {
    // A stale value, because its frame is no longer below us: an error handler left the Fortran
    // wrapper by an exception or longjmp.
    if (frame >= fortran_frame) fortran_frame = nullptr;
    if (!library.started) return inactive();
    const perfield_entered begun = perfield_call_enter(kind, following() ? caller : nullptr, frame);
    if (begun.stamp) fortran_frame = nullptr;
    return begun;
  }
  [[gnu::always_inline]] void leave() const noexcept {
    if (bytes_out | bytes_in)
      perfield_call_exit_bytes(kind, entered, left, bytes_out, bytes_in);
    else
      perfield_call_exit(kind, entered, left);
  }
  [[gnu::always_inline]] Call(perfield_call kind, perfield_entered begun) noexcept
      : entered(begun.stamp), kind(kind), after_(begun.after) {}
  uint64_t after_;
};

// The functions of the program's MPI, which a call has found: once started they are known.
inline const NextFunctions& next(const Call&) noexcept { return next_functions; }

// A status to learn the sender from, also if the program ignores its status.
inline MPI_Status* own_if_ignored(MPI_Status* given, MPI_Status* own) noexcept {
  return given == MPI_STATUS_IGNORE && following() ? own : given;
}

}  // namespace perfield::pmpi
