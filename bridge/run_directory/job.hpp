// SPDX-License-Identifier: BSD-3-Clause
//
// job.hpp - what the environment and the kernel tell about this process's job and host, before
// MPI_Init and without asking anybody. rank_from_environment and the names of the host are
// declared in run_directory.hpp.
#pragma once

#include <string>

namespace perfield {

struct JobToken {
  std::string text;          // the same for all ranks of one job, different for any other job
  bool by_launcher = false;  // made from a launcher's numbers, which may come again some day
};

// PERFIELD_RUN_ID, else what Open MPI or PMIx, Slurm, or MPICH say of the job; "" if nobody does.
JobToken job_token();

// False if a run of that token is of the world whose MPI_Comm_spawn has started this one.
bool is_of_this_world(const std::string& token);

// Number of this rank among those of its node; 0 if the launcher does not tell.
int local_rank();

// A rank that may speak for others: local rank 0, or the first of one of several programs that
// were started together.
bool speaks_for_node();

}  // namespace perfield
