// SPDX-License-Identifier: BSD-3-Clause
//
// recorder_functions.hpp - Python functions as regions: the interface between choosing them
// (recorder_functions.cpp) and following their calls (recorder_monitoring.cpp,
// recorder_profile.cpp). Each function is looked at once; the answer stays with its code object.
#pragma once

#include "recorder_module.hpp"

namespace perfield::python {

// The answer kept with a function's code: 0 for not checked yet, kLeftOut, or kLeftOut + the
// region's handle.
constexpr uintptr_t kLeftOut = 1;

uintptr_t answer_for(PyObject* code) noexcept;
// Checks the function that has just been entered; never returns 0.
uintptr_t look_at(PyFrameObject* frame, PyCodeObject* code) noexcept;

inline void enter_answered(uintptr_t answer) noexcept {
  if (answer > kLeftOut) enter(perfield_region(answer - kLeftOut), -1);
}
inline void leave_answered(uintptr_t answer) noexcept {
  if (answer > kLeftOut) leave(perfield_region(answer - kLeftOut));
}

// Starts to follow all function calls on all threads; false with a Python exception set.
bool follow_calls();

}  // namespace perfield::python
