// SPDX-License-Identifier: BSD-3-Clause
//
// machine_file.hpp - writes machine/<host>-<boot id>.xml, hwloc's description of this host, once
// per host: the first rank writes it. It may run lstopo before the program starts. Inside a rank it
// forks nothing and uses only libhwloc, which it loads and unloads again.
#pragma once

#include <string>

namespace perfield {

// Returns "" if the file exists or another rank is writing it, else a sentence that says why not.
// Never throws.
std::string write_machine_file(const std::string& run_directory, bool may_run_lstopo);

}  // namespace perfield
