// SPDX-License-Identifier: BSD-3-Clause
//
// run_directory.hpp - claims a run directory, or joins the one that a sibling rank has claimed.
// Runs once per process, before measuring; never throws; failures come back as a sentence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "configuration/config.hpp"

namespace perfield {

struct RunDirectory {
  std::string path;     // as found or made, absolute
  uint64_t run_id = 0;  // random, in every entry
  std::string error;    // not empty: nothing could be claimed, and why
  std::string
      notice;  // not empty: something to tell once ("perfield-run exists; using perfield-run-2")
};

// Claims `configured` (config.run_directory), or the next free name, by renaming a prepared
// directory (run.json, stream/, mesh/, machine/ inside) onto it. Ranks of one job find each other
// by a token (PERFIELD_RUN_ID, else what the launcher's environment says of the job) kept in
// run.json. PERFIELD_RUN (a path set by perfield-exec) is joined as it is.
RunDirectory open_run_directory(const Config& config, const std::vector<std::string>& command);

// Name of this node's host, short, by SLURMD_NODENAME, else gethostname; and the first eight
// digits of its boot id: together the stem of its files.
std::string host_name();
std::string boot_id();
std::string stream_stem();  // "<host>-<boot id>"

// World rank and size as the launcher's environment tells them (Open MPI, PMI, Slurm); false if it
// does not.
bool rank_from_environment(int* rank, int* size);

}  // namespace perfield
