// SPDX-License-Identifier: BSD-3-Clause
//
// preload.hpp - which of perfield's libraries go into a program, and whether they can: by the
// program's own file first; where that names no MPI (Python, hosts of plug-ins), by the
// configuration, by the launcher that started it, or by which MPI there is.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "configuration/config.hpp"

namespace perfield {

struct Preload {
  std::vector<std::string> libraries;  // absolute paths, for LD_PRELOAD in this order
  std::string refusal;                 // not empty: why the program cannot be measured
  bool score_p = false;                // the program was built with Score-P
};

// The whole path of one of our libraries; "" if it is nowhere.
std::string find_library(const std::string& name);

// config: `mpi` says whose calls to wrap in programs whose file does not tell.
Preload choose_preload(const std::string& program, const Config& config);

// What stands in LD_PRELOAD: ours first, then what was there; `added` is ours alone. A list that
// an earlier perfield-exec has put there is replaced.
std::string preload_list(const Preload& preload, std::string* added);

// Variables by which libraries that tell tools what they do load ours, by themselves: (name,
// value). Those that the user has set, for another tool, are left out.
std::vector<std::pair<std::string, std::string>> tool_variables();

}  // namespace perfield
