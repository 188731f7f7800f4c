// SPDX-License-Identifier: BSD-3-Clause
//
// job.cpp - see job.hpp.
#include "run_directory/job.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "format/entry.hpp"
#include "run_directory/launchers.hpp"
#include "run_directory/run_directory.hpp"

namespace perfield {
namespace {

constexpr size_t kBootDigits = 8;  // in names of files

// Worlds made by MPI_Comm_spawn are runs of their own: text that distinguishes such a world from
// its parent; "" in a world that was not spawned.
std::string spawned_world() {
  if (!variable("OMPI_PARENT_PORT").empty()) return " spawned " + variable("PMIX_NAMESPACE");
  const std::string spawned = variable("PMI_SPAWNED");
  if (!spawned.empty() && spawned != "0") return " spawned " + hydra_process_group();
  return "";
}

std::string question() {
  const std::string job = batch_variable();
  return "this world has several nodes, and perfield does not know its launcher: it shows nothing "
         "that all nodes have in common, so each node would make a run directory of its own; give "
         "each launch a name before the launcher's line, for example by: export PERFIELD_RUN_ID=$" +
         (job.empty() ? "(date +%s)" : job) + ".$RANDOM";
}

// For a launcher that is not known: its process on this node. That is enough where the world has
// no other node.
JobToken token_of_node() {
  const LaunchedRank launched = launched_rank();
  if (launched.rank < 0) return {};
  const int known = nodes_of_world();
  const bool is_known = launched.local_size > 0 || launched.nodes > 0;
  const int nodes = is_known ? known : nodes_of_batch_job();
  if (launched.size != 1 && nodes > 1) return {"", false, question()};
  const pid_t parent = getppid();  // and its start time, in clock ticks since boot
  return {"pmi " + std::to_string(parent) + " " + stat_field(parent, 22) + " " + stream_stem(),
          true, ""};
}

}  // namespace

JobToken job_token() {
  const std::string given = variable("PERFIELD_RUN_ID");
  JobToken token{given, false, ""};
  if (given.empty()) token = {launch_id(), true, ""};
  if (token.text.empty()) token = token_of_node();
  if (!token.text.empty()) token.text += spawned_world();
  return token;
}

bool is_of_this_world(const std::string& token) {
  const std::string world = spawned_world();
  return token.size() >= world.size() &&
         token.compare(token.size() - world.size(), world.size(), world) == 0;
}

int local_rank() { return launched_rank().local_rank; }

bool speaks_for_node() {
  if (local_rank() <= 0) return true;
  std::istringstream first_ranks(variable("OMPI_FIRST_RANKS"));
  const std::string own = variable("OMPI_COMM_WORLD_RANK");
  for (std::string rank; first_ranks >> rank;)
    if (rank == own) return true;
  return false;
}

int nodes_of_world() {
  const LaunchedRank launched = launched_rank();
  if (launched.size > 0 && launched.local_size > 0)
    return (launched.size + launched.local_size - 1) / launched.local_size;
  return launched.nodes > 0 ? launched.nodes : 1;
}

bool rank_from_environment(int* rank, int* size) {
  const LaunchedRank launched = launched_rank();
  if (launched.rank < 0 || launched.size < 0) return false;
  *rank = launched.rank;
  *size = launched.size;
  return true;
}

std::string host_name() {
  std::string name = variable("SLURMD_NODENAME");
  if (name.empty()) {
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) == 0) name = host;
  }
  name = name.substr(0, name.find('.'));
  for (char& c : name)
    if (c == '/' || static_cast<unsigned char>(c) <= ' ') c = '_';
  return name.empty() ? "localhost" : name;
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id.size() >= kBootDigits ? id : kUnknownBoot;
}

std::string stream_stem() { return host_name() + "-" + boot_id().substr(0, kBootDigits); }

}  // namespace perfield
