// SPDX-License-Identifier: BSD-3-Clause
//
// vouch.hpp - whether every rank of this launch is a program that perfield-exec started, so that
// they may call something collective together (see sources/pmpi/clocks.hpp).
#pragma once

#include <string>

namespace perfield {

// The value of PERFIELD_ALL_RANKS for the program that this process becomes:
// <launch>:<size>:<process>:<inode of the program's file>, so that it holds for that very process
// only; "" if nobody vouches. `perfield run` does (PERFIELD_ALL_RANKS=<PERFIELD_RUN_ID> or
// <PERFIELD_RUN_ID>:<size>), and Open MPI where all that it starts is one perfield-exec.
std::string vouch_for(const std::string& program);

}  // namespace perfield
