// SPDX-License-Identifier: BSD-3-Clause
//
// interpreter.hpp - the Python of this process. In a C, C++ or Fortran program it starts here; a
// Python program runs it already. It never ends, because extension modules do not survive that.
#pragma once

#include <string>

namespace perfield::catalyst {

// Starts Python, or joins the running one, and makes perfield importable. executable: the Python
// whose packages to use; "" for the one perfield is installed in. Returns what is wrong as part of
// a sentence, "" if nothing is. started: set to whether Python was started here.
std::string start_python(const std::string& executable, bool* started);

// Whether Python can be called: it runs and is not ending.
bool python_runs() noexcept;

}  // namespace perfield::catalyst
