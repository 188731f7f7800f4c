// SPDX-License-Identifier: BSD-3-Clause
//
// launchers.cpp - see launchers.hpp. One row per launcher, the innermost first where one is often
// started inside another: what the outer one set is still in the environment, and describes
// another process. Sources: flux-environment(7); Slurm's plug-in mpi/cray_shasta (PALS_*, PMI_*);
// flux-framework/flux-coral2 #79, which quotes Cray (PALS_*); Intel MPI 2021.19 (I_MPI_HYDRA_UUID);
// mpispawn of MVAPICH2 (MPIRUN_ID, MV2_*); PyTorch Lightning's LSF plug-in (JSM_*); prrte (names
// prte...).
#include "run_directory/launchers.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "platform/regular_file.hpp"

namespace perfield {
namespace {

bool is_set(const char* name) { return !variable(name).empty(); }

bool begins(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

// -1 if the variable is not a number from 0 on.
int number(const char* name) {
  const std::string text = variable(name);
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  return text.empty() || *end || value < 0 || value > 1 << 30 ? -1 : static_cast<int>(value);
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "name part part", without the empty parts; "" if the first part is empty.
std::string joined(const char* name, const std::string& first, const std::string& second = "") {
  if (first.empty()) return "";
  return std::string(name) + " " + first + (second.empty() ? "" : " " + second);
}

// mpirun of Open MPI 4 also starts ranks without a PMIx name of their own inside other launchers.
std::string pmix_id() {
  return joined("pmix", variable("PMIX_NAMESPACE"), variable("OMPI_MCA_orte_hnp_uri"));
}

// Intel's mpiexec gives each launch a UUID (seen in 2021.19); MPICH's gives its own address to the
// proxies of all nodes.
std::string hydra_id() {
  const std::string uuid = variable("I_MPI_HYDRA_UUID");
  return joined("hydra", uuid.empty() ? hydra_option("--control-port") : uuid,
                hydra_process_group());
}

// A Flux job's number is unique in its instance only; jobs are often instances themselves. FLUX_URI
// is of no use: each node has its own.
std::string flux_id() {
  const std::string path = variable("FLUX_JOB_ID_PATH"), job = variable("FLUX_JOB_ID");
  const std::string batch = batch_variable();  // Flux gives all tasks the environment of flux run
  if (job.empty() && path.empty()) return "";
  return joined("flux", path.empty() ? variable("FLUX_ENCLOSING_ID") + "/" + job : path,
                batch.empty() ? "" : variable(batch.c_str()));
}

struct Launcher {
  bool (*started_this)();
  std::string (*id)();
  const char *rank, *size, *local_rank, *local_size, *nodes;
};

const Launcher kLaunchers[] = {
    {[] {  // jsrun, but not a mpirun that it started
       return is_set("JSM_NAMESPACE_RANK") && !is_set("OMPI_MCA_orte_hnp_uri") &&
              !begins(variable("PMIX_NAMESPACE"), "prte");
     },
     [] { return joined("jsm", variable("PMIX_NAMESPACE"), variable("LSB_JOBID")); },
     "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
     "JSM_NAMESPACE_LOCAL_SIZE", ""},
    {[] {
       return is_set("OMPI_COMM_WORLD_RANK") || is_set("OMPI_COMM_WORLD_LOCAL_RANK") ||
              begins(variable("PMIX_NAMESPACE"), "prte");
     },
     pmix_id, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", ""},
    {[] { return is_set("MPI_LOCALRANKID"); }, hydra_id, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS", ""},
    {[] { return is_set("FLUX_TASK_RANK"); }, flux_id, "FLUX_TASK_RANK", "FLUX_JOB_SIZE",
     "FLUX_TASK_LOCAL_ID", "", "FLUX_JOB_NNODES"},
    {[] { return is_set("PALS_RANKID"); }, [] { return joined("pals", variable("PALS_APID")); },
     "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", ""},
    {[] { return is_set("MPIRUN_ID") && is_set("MV2_COMM_WORLD_RANK"); },  // mpirun_rsh: its pid
     [] { return joined("mpirun_rsh", variable("MPIRUN_ID"), variable("MV2_COMM_WORLD_SIZE")); },
     "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE", "MV2_NUM_NODES_IN_JOB"},
    {[] { return is_set("PMIX_NAMESPACE") && !begins(variable("PMIX_NAMESPACE"), "slurm."); },
     pmix_id, "PMIX_RANK", "", "", "", ""},
    // Outside a job step, Slurm's numbers are those of the batch script.
    {[] { return is_set("SLURM_STEP_ID"); },
     [] {
       const std::string job = variable("SLURM_JOB_ID");
       return job.empty() ? "" : "slurm " + job + "." + variable("SLURM_STEP_ID");
     },
     "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", "SLURM_STEP_NUM_NODES"},
    {[] { return is_set("ALPS_APP_PE"); }, [] { return joined("alps", variable("ALPS_APP_ID")); },
     "ALPS_APP_PE", "", "", "", ""},
    {[] { return is_set("PMI_RANK"); }, hydra_id, "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK",
     "PMI_LOCAL_SIZE", ""},
};

}  // namespace

std::string variable(const char* name) {
  const char* value = *name ? std::getenv(name) : nullptr;
  return value ? value : "";
}

// Where several rows fit, they add to one another if they mean the same rank.
LaunchedRank launched_rank() {
  LaunchedRank found;
  const auto complete = [](int* known, int more) {
    if (*known < 0) *known = more;
  };
  for (const Launcher& launcher : kLaunchers) {
    if (!launcher.started_this()) continue;
    const int rank = number(launcher.rank);
    if (rank >= 0 && found.rank >= 0 && rank != found.rank) continue;
    const int size = number(launcher.size);
    if (size >= 0 && found.size >= 0 && size != found.size) continue;
    complete(&found.rank, rank);
    complete(&found.size, size);
    complete(&found.local_rank, number(launcher.local_rank));
    complete(&found.local_size, number(launcher.local_size));
    complete(&found.nodes, number(launcher.nodes));
  }
  return found;
}

std::string launch_id() {
  for (const Launcher& launcher : kLaunchers)
    if (launcher.started_this())
      if (const std::string id = launcher.id(); !id.empty()) return id;
  return "";
}

std::string stat_field(int process, int number) {
  const std::string line = first_line("/proc/" + std::to_string(process) + "/stat");
  const size_t name_end = line.rfind(')');  // the name may contain blanks and parentheses
  if (name_end == std::string::npos) return "";
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= number; ++i) fields >> field;
  return field;
}

std::string hydra_option(const std::string& wanted) {
  int process = getppid();
  for (int i = 0; i < 8 && process > 1; ++i) {
    std::ifstream file("/proc/" + std::to_string(process) + "/cmdline", std::ios::binary);
    std::string word, value;
    std::getline(file, word, '\0');
    const bool proxy = word.find("hydra_pmi_proxy") != std::string::npos;
    while (proxy && std::getline(file, word, '\0'))
      if (word == wanted && std::getline(file, value, '\0')) return value;
    process = std::atoi(stat_field(process, 4).c_str());
  }
  return "";
}

std::string hydra_process_group() {
  const std::string group = variable("HYDRA_BSTRAP_PGID");
  return group.empty() ? hydra_option("--pgid") : group;
}

namespace {

// Different words in a file; of several on a line, the first counts.
int different_lines(const std::string& path) {
  constexpr size_t kMostBytes = size_t{1} << 26;
  std::string text;
  if (!read_regular(path, kMostBytes, &text)) return 0;
  std::istringstream file(text);
  std::set<std::string> names;
  std::string line, name;
  while (std::getline(file, line))
    if (std::istringstream(line) >> name) names.insert(name);
  return static_cast<int>(names.size());
}

}  // namespace

int nodes_of_batch_job() {
  // PBS, Cobalt and OAR write the list of nodes on the first one only: elsewhere it is missing.
  for (const char* list : {"PBS_NODEFILE", "COBALT_NODEFILE", "OAR_NODEFILE", "PE_HOSTFILE"})
    if (is_set(list)) {
      const int nodes = different_lines(variable(list));
      return nodes ? nodes : 2;
    }
  for (const char* count : {"SLURM_JOB_NUM_NODES", "COBALT_JOBSIZE", "NHOSTS"})
    if (const int nodes = number(count); nodes > 0) return nodes;
  std::istringstream hosts(variable("LSB_MCPU_HOSTS"));  // "host1 16 host2 16"
  int words = 0;
  for (std::string word; hosts >> word;) ++words;
  return words >= 2 ? words / 2 : -1;
}

std::string batch_variable() {
  for (const char* name :
       {"PBS_JOBID", "SLURM_JOB_ID", "LSB_JOBID", "COBALT_JOBID", "OAR_JOB_ID", "JOB_ID"})
    if (is_set(name)) return name;
  return "";
}

}  // namespace perfield
