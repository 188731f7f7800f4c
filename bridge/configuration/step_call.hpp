// SPDX-License-Identifier: BSD-3-Clause
//
// step_call.hpp - the value of the key step_call: "Allreduce@solve-3f2a" is the call site of
// MPI_Allreduce whose chain of callers has a hash that begins with 3f2a; the function's name before
// it is for the reader. "Wait@solve-3f2a/4" closes a step at each fourth hit. Names of calls are
// those of calls.def, with or without MPI_, in upper or lower case.
#pragma once

#include <cstdint>
#include <string>

namespace perfield {

inline constexpr int kSiteDigits = 4;  // of the hash, in names that need no more

struct StepCall {
  uint16_t call = 0;    // 0: no call closes a step
  uint32_t every = 1;   // ... and only each n-th of its hits
  uint64_t digits = 0;  // the hash's first hexadecimal digits, as a number
  int n_digits = 0;

  bool is_of(uint16_t other, uint64_t identity) const noexcept {
    return call && other == call && identity >> (64 - 4 * n_digits) == digits;
  }
};

// Parses step_call = `text`; an empty text means no call. complaint: the second half of a sentence
// about what is wrong, "" if nothing is.
StepCall read_step_call(const std::string& text, std::string* complaint);

// The call's name for display: "Allreduce".
std::string call_title(uint16_t call);

}  // namespace perfield
