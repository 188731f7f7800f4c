// SPDX-License-Identifier: BSD-3-Clause
//
// interpreter.hpp - the Python of this process: started here in a C, C++ or Fortran program, or the
// one that runs the program. Once started it is never ended: extension modules do not survive it.
#pragma once

#include <string>

namespace perfield::catalyst {

// Starts Python, or finds the running one, with perfield importable. executable: the Python to be,
// with its packages; "" for the one perfield is installed for. Returns what is wrong in a
// sentence's words, "" if nothing is. started: whether it was not running before.
std::string start_python(const std::string& executable, bool* started);

// Whether Python can be called: it runs, and is not about to end.
bool python_runs() noexcept;

}  // namespace perfield::catalyst
