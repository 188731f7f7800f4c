// SPDX-License-Identifier: BSD-3-Clause
//
// run_directory.hpp - claims a run directory, or joins the one that a sibling rank has claimed.
// Runs once per process, before measuring. Never throws; returns failures as sentences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "configuration/config.hpp"

namespace perfield {

struct RunDirectory {
  std::string path;     // as found or made, absolute
  uint64_t run_id = 0;  // random, in every entry
  std::string error;    // why nothing could be claimed, or ""
  std::string
      notice;  // a message to print once, or "" ("perfield-run exists; using perfield-run-2")
  bool first_of_node = true;  // false: another rank of this node writes what a node needs once
  bool claimed = false;       // this process made it, so it writes what a run needs once
};

// Claims `configured` (config.run_directory), or the next free name, by renaming a prepared
// directory (run.json, stream/, mesh/, machine/ inside) onto it. Ranks of one job find each other
// by a token in run.json: PERFIELD_RUN_ID, else the job's identity from the launcher's environment.
// If perfield-exec has set PERFIELD_RUN to a path, joins that run. Of the ranks of a node, the
// first claims or joins; the others wait for its result, for seconds at most. A directory that
// belongs to another user is left alone. From then on the run's files are guarded (guarded.hpp).
// trace: of the latencies that are injected, for run.json; "" if none are.
RunDirectory open_run_directory(const Config& config, const std::vector<std::string>& command,
                                const std::string& trace);

// Why a run directory is not that of this process's user, as the end of a sentence; "" if it is.
std::string why_not_ours(const std::string& run);

// The short name of this node's host: SLURMD_NODENAME, else gethostname. And its boot id. The name
// and the first eight digits together are the stem of its files.
std::string host_name();
std::string boot_id();
std::string stream_stem();  // "<host>-<boot id>"

// World rank and size from the launcher's environment; false if it does not give them.
bool rank_from_environment(int* rank, int* size);

}  // namespace perfield
