// SPDX-License-Identifier: BSD-3-Clause
//
// launchers.hpp - what each launcher puts into the environment of the ranks that it starts.
#pragma once

#include <string>

namespace perfield {

// A rank as its launcher describes it; -1: unknown.
struct LaunchedRank {
  int rank = -1, size = -1;
  int local_rank = -1, local_size = -1;  // on its node
  int nodes = -1;                        // of the world
};

LaunchedRank launched_rank();

// What the launcher calls this launch, equal on all nodes; "" if no known launcher says it. The
// number of a batch job is none, since a job may start several programs.
std::string launch_id();

// The value of a variable, "" if it is not set.
std::string variable(const char* name);

// An option of the process that started this node's ranks of MPICH (hydra's proxy); "" if no such
// process is found. And the number that hydra gives to this world: 0, or more if it was spawned.
std::string hydra_option(const std::string& wanted);
std::string hydra_process_group();

// Field `number` (3 or more) of a process's line in /proc/<pid>/stat; "" if there is none.
std::string stat_field(int process, int number);

// Nodes of the batch job around this process; -1 if no batch system says it. And the name of the
// variable that holds the job's number, "" if there is none.
int nodes_of_batch_job();
std::string batch_variable();

}  // namespace perfield
