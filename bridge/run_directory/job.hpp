// SPDX-License-Identifier: BSD-3-Clause
//
// job.hpp - what the environment and the kernel say about this process's job and host, before
// MPI_Init and without communication. launchers.hpp holds the names of each launcher's variables;
// run_directory.hpp declares rank_from_environment and the host's names.
#pragma once

#include <string>

namespace perfield {

struct JobToken {
  std::string text;          // equal in all ranks of a job, unlike in any other job
  bool by_launcher = false;  // made from a launcher's numbers, which may repeat
  // The job has several nodes, and its launcher shows nothing that they have in common: a sentence
  // that asks for PERFIELD_RUN_ID; else "".
  std::string question;
};

// PERFIELD_RUN_ID, else what the launcher calls this launch; "" if unknown. The number of a batch
// job alone is not a token: one job may start many programs.
JobToken job_token();

// False if the token belongs to the run whose MPI_Comm_spawn started this world.
bool is_of_this_world(const std::string& token);

// This rank's number on its node; -1 if the launcher does not say.
int local_rank();

// Whether this rank may speak for others: it has local rank 0 or none, or is the first of one of
// several programs started together.
bool speaks_for_node();

// Nodes of this world as the launcher says, at least 1.
int nodes_of_world();

}  // namespace perfield
