// SPDX-License-Identifier: BSD-3-Clause
//
// preload.hpp - chooses perfield's libraries for a program, and says whether it can be measured.
// The program's file decides; if it names no MPI (Python, hosts of plug-ins), the configuration
// does, then the launcher, then which MPI is installed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "configuration/config.hpp"

namespace perfield {

struct Preload {
  std::vector<std::string> sanitizers;  // the program's own, which come first; absolute paths
  std::vector<std::string> libraries;   // ours, for LD_PRELOAD in this order; absolute paths
  size_t n_wrappers = 0;                // of MPI; the first of ours
  std::string refusal;                  // why the program cannot be measured, or ""
  std::string notice;                   // a message to print once per node, or ""
  bool injects = false;                 // latencies, from the trace of the configuration
  bool score_p = false;                 // the program was built with Score-P
};

// The absolute path of one of our libraries; "" if not found.
std::string find_library(const std::string& name);

// config: `mpi` says whose calls to wrap if the program's file does not. Reads LD_PRELOAD, too.
Preload choose_preload(const std::string& program, const Config& config);

// The value of LD_PRELOAD: the previous runtimes of sanitizers, our libraries, then the other
// previous ones. `added` gets what is new. Replaces the list of an earlier perfield-exec.
std::string preload_list(const Preload& preload, std::string* added);

// Environment variables (name, value) that make libraries with tool interfaces load our tool.
// Leaves out variables that the user has set for another tool.
std::vector<std::pair<std::string, std::string>> tool_variables();

}  // namespace perfield
