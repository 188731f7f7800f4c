// SPDX-License-Identifier: BSD-3-Clause
//
// job.cpp - see job.hpp. It asks Open MPI before Slurm: mpirun inside a Slurm job starts its remote
// daemons in a step of their own, so the step's number differs between nodes.
#include "run_directory/job.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "run_directory/run_directory.hpp"

namespace perfield {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool number(const char* name, int* value) {
  const std::string text = variable(name);
  if (text.empty()) return false;
  char* end = nullptr;
  *value = static_cast<int>(std::strtol(text.c_str(), &end, 10));
  return *end == '\0';
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Field `number` (3 or more) of a process's stat line. Counts from the end of the program's name,
// which may contain blanks and parentheses.
std::string stat_field(pid_t process, int number) {
  const std::string line = first_line("/proc/" + std::to_string(process) + "/stat");
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= number; ++i) fields >> field;
  return field;
}

// The value of an option of hydra's proxy, the ancestor of all MPICH ranks of a node; "" if no such
// process is found.
std::string hydra_option(const std::string& wanted) {
  pid_t process = getppid();
  for (int i = 0; i < 8 && process > 1; ++i) {
    std::ifstream file("/proc/" + std::to_string(process) + "/cmdline", std::ios::binary);
    std::string word, value;
    std::getline(file, word, '\0');
    const bool proxy = word.find("hydra_pmi_proxy") != std::string::npos;
    while (proxy && std::getline(file, word, '\0'))
      if (word == wanted && std::getline(file, value, '\0')) return value;
    process = static_cast<pid_t>(std::atol(stat_field(process, 4).c_str()));
  }
  return "";
}

// Worlds made by MPI_Comm_spawn are runs of their own: text that tells such a world from its
// parent; "" in a world that was not spawned.
std::string spawned_world() {
  if (!variable("OMPI_PARENT_PORT").empty()) return " spawned " + variable("PMIX_NAMESPACE");
  if (!variable("PMI_SPAWNED").empty()) return " spawned " + hydra_option("--pgid");
  return "";
}

JobToken token_of_launcher() {
  const std::string name_space = variable("PMIX_NAMESPACE");
  if (!name_space.empty())
    return {"pmix " + name_space + " " + variable("OMPI_MCA_orte_hnp_uri"), true};
  const std::string job = variable("SLURM_JOB_ID"), step = variable("SLURM_STEP_ID");
  if (!job.empty() && !step.empty()) return {"slurm " + job + "." + step, true};
  if (variable("PMI_RANK").empty()) return {};
  // The address of MPICH's mpiexec; the proxies of all nodes get it.
  const std::string address = hydra_option("--control-port");
  if (!address.empty()) return {"hydra " + address + " " + hydra_option("--pgid"), true};
  const pid_t parent = getppid();  // and its start time, in clock ticks since boot
  return {"pmi " + std::to_string(parent) + " " + stat_field(parent, 22) + " " + stream_stem(),
          true};
}

}  // namespace

JobToken job_token() {
  const std::string given = variable("PERFIELD_RUN_ID");
  JobToken token = given.empty() ? token_of_launcher() : JobToken{given, false};
  if (!token.text.empty()) token.text += spawned_world();
  return token;
}

bool is_of_this_world(const std::string& token) {
  const std::string world = spawned_world();
  return token.size() >= world.size() &&
         token.compare(token.size() - world.size(), world.size(), world) == 0;
}

int local_rank() {
  int rank = 0;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (number(name, &rank)) return rank;
  return 0;
}

bool speaks_for_node() {
  if (local_rank() == 0) return true;
  std::istringstream first_ranks(variable("OMPI_FIRST_RANKS"));
  const std::string own = variable("OMPI_COMM_WORLD_RANK");
  for (std::string rank; first_ranks >> rank;)
    if (rank == own) return true;
  return false;
}

bool rank_from_environment(int* rank, int* size) {
  if (number("OMPI_COMM_WORLD_RANK", rank) && number("OMPI_COMM_WORLD_SIZE", size)) return true;
  if (number("PMI_RANK", rank) && number("PMI_SIZE", size)) return true;
  // Outside a job step, Slurm's numbers are those of the batch script.
  return !variable("SLURM_STEP_ID").empty() && number("SLURM_PROCID", rank) &&
         (number("SLURM_STEP_NUM_TASKS", size) || number("SLURM_NTASKS", size));
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
  const std::string id = first_line("/proc/sys/kernel/random/boot_id").substr(0, 8);
  return id.size() == 8 ? id : "00000000";
}

std::string stream_stem() { return host_name() + "-" + boot_id(); }

}  // namespace perfield
