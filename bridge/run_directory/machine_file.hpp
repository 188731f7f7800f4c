// SPDX-License-Identifier: BSD-3-Clause
//
// machine_file.hpp - writes machine/<host>.xml, hwloc's description of this host, once per host
// whoever comes first. Before the program starts lstopo may be run; inside a rank nothing is
// forked, and only libhwloc, loaded and unloaded again, will do.
#pragma once

#include <string>

namespace perfield {

// Returns "" if the file is there, or somebody else is writing it; else why it is not, as a
// sentence. Never throws.
std::string write_machine_file(const std::string& run_directory, bool may_run_lstopo);

}  // namespace perfield
