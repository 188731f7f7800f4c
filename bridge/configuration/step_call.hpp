// SPDX-License-Identifier: BSD-3-Clause
//
// step_call.hpp - the value of the key step_call: "Allreduce@3" is the third call site of
// MPI_Allreduce. Names are those of calls.def, with or without MPI_, in upper or lower case.
#pragma once

#include <cstdint>
#include <string>

namespace perfield {

struct StepCall {
  uint16_t call = 0, number = 0;  // 0: no call closes a step
};

// Parses step_call = `text`; an empty text means no call. complaint: the second half of a sentence
// about what is wrong, "" if nothing is.
StepCall read_step_call(const std::string& text, std::string* complaint);

// The call's name for display: "Allreduce".
std::string call_title(uint16_t call);

}  // namespace perfield
