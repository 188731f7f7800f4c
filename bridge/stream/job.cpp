// SPDX-License-Identifier: BSD-3-Clause
//
// job.cpp - see job.hpp. Open MPI is asked before Slurm: mpirun inside a Slurm job starts its
// remote daemons in a step of their own, so that the step's number differs between nodes.
#include "stream/job.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "stream/run_directory.hpp"

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

// When a process was started, in clock ticks since boot: field 22 of its stat line, counted behind
// the program's name, which may hold blanks and parentheses.
std::string start_ticks(pid_t process) {
  const std::string line = first_line("/proc/" + std::to_string(process) + "/stat");
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return field;
}

}  // namespace

JobToken job_token() {
  const std::string given = variable("PERFIELD_RUN_ID");
  if (!given.empty()) return {given, false};
  const std::string name_space = variable("PMIX_NAMESPACE");
  if (!name_space.empty())
    return {"pmix " + name_space + " " + variable("OMPI_MCA_orte_hnp_uri"), true};
  const std::string job = variable("SLURM_JOB_ID"), step = variable("SLURM_STEP_ID");
  if (!job.empty() && !step.empty()) return {"slurm " + job + "." + step, true};
  if (!variable("PMI_RANK").empty()) {
    // MPICH's ranks of one node have one parent, hydra's proxy.
    const pid_t parent = getppid();
    return {"pmi " + std::to_string(parent) + " " + start_ticks(parent) + " " + stream_stem(),
            true};
  }
  return {};
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
  // Outside a step, Slurm's numbers are those of the batch script.
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
