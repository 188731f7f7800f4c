// SPDX-License-Identifier: BSD-3-Clause
//
// perfield_exec.cpp - perfield-exec PROGRAM ARGS: claims or joins the run directory, describes the
// host, and starts the program with perfield's libraries preloaded. Every obstacle to measuring
// becomes one sentence per node, and the program then runs as if perfield were absent.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/elf_program.hpp"
#include "launcher/preload.hpp"
#include "launcher/sanitizers.hpp"
#include "launcher/score_p.hpp"
#include "launcher/vouch.hpp"
#include "platform/guarded.hpp"
#include "platform/memory_limit.hpp"
#include "platform/quietly.hpp"
#include "platform/utf8.hpp"
#include "run_directory/job.hpp"
#include "run_directory/machine_file.hpp"
#include "run_directory/network_file.hpp"
#include "run_directory/run_directory.hpp"
#include "run_directory/run_json.hpp"
#include "run_directory/staging.hpp"

namespace {

const char kHelp[] =
    "usage: perfield-exec [--print] [--scorep] [--] PROGRAM [ARGS ...]\n"
    "       perfield-exec --collect RUN\n"
    "\n"
    "Starts PROGRAM so that perfield measures it. Put it before the program and after any "
    "launcher:\n"
    "  mpirun -n 8 perfield-exec ./a.out input.txt\n"
    "  srun -n 64 perfield-exec ./a.out input.txt\n"
    "The measurement goes into perfield-run (or perfield-run-2, ... if that is taken);\n"
    "perfield.toml in the working directory and PERFIELD_<KEY> variables change what is measured.\n"
    "A program that cannot be measured runs as it would without perfield-exec.\n"
    "\n"
    "  --collect RUN  start nothing; move files staged on this host into that run directory\n"
    "  --print    start nothing; print the environment that PROGRAM would get, as export lines\n"
    "  --scorep   have Score-P load perfield's plugin; automatic if PROGRAM needs libscorep_*\n"
    "  --version  print perfield's version\n"
    "  --help     print this text\n";

// Paths and names of hosts may come from files that somebody else wrote.
void warn(const std::string& sentence) {
  perfield::say("perfield: " + perfield::legible(sentence) + "\n");
}

void print_line(const std::string& line) { std::puts(perfield::legible(line).c_str()); }

void warn_once_per_node(const std::string& sentence) {
  if (!sentence.empty() && perfield::speaks_for_node()) warn(sentence);
}

using Environment = std::vector<std::pair<std::string, std::string>>;

// The absolute path, because a program may change its directory before it starts perfield; "" if
// there is no such file.
std::string absolute(const std::string& file) {
  char path[PATH_MAX];
  return realpath(file.c_str(), path) ? path : "";
}

// Prepares everything for the program. False: run it unmeasured, with `environment` all the same.
// score_p: the program was built with Score-P, even if its file does not show that.
bool prepare(const std::string& program, bool score_p, const std::vector<std::string>& command,
             Environment* environment) {
  const perfield::ConfigResult configuration = perfield::load_config();
  for (const std::string& notice : configuration.notices) warn_once_per_node(notice);
  for (const std::string& error : configuration.errors) warn_once_per_node(error);
  if (!configuration.errors.empty()) {
    warn_once_per_node("the program runs unmeasured until you correct this");
    *environment = {{"PERFIELD_ENABLED", "false"}};
    return false;
  }
  if (!configuration.config.enabled) return false;

  const std::string no_room = perfield::no_room_in_words();
  warn_once_per_node(no_room);
  if (!no_room.empty()) return false;

  const perfield::Preload preload = perfield::choose_preload(program, configuration.config);
  warn_once_per_node(preload.refusal);
  if (!preload.refusal.empty()) return false;
  warn_once_per_node(preload.notice);

  const std::string trace = preload.injects ? configuration.config.inject : "";
  const perfield::RunDirectory run =
      perfield::open_run_directory(configuration.config, command, trace);
  if (!run.error.empty()) {
    warn_once_per_node(run.error + "; the program runs unmeasured");
    *environment = {{"PERFIELD_ENABLED", "false"}};
    return false;
  }
  if (!run.notice.empty()) warn(run.notice);
  std::optional<perfield::NetworkFile> network;  // Slurm answers while lstopo runs
  if (run.claimed) network.emplace(run.path, configuration.config, true);
  if (run.first_of_node) warn_once_per_node(perfield::write_machine_file(run.path, true));
  if (network) warn_once_per_node(network->finish());

  std::string added;
  const std::string list = perfield::preload_list(preload, &added);
  *environment = {{"LD_PRELOAD", list},
                  {"PERFIELD_PRELOADED", added},
                  {"PERFIELD_RUN", run.path},
                  {"PERFIELD_RUN_ID", perfield::hex16(run.run_id)}};
  if (!trace.empty()) {
    const std::string whole = absolute(trace);
    environment->emplace_back("PERFIELD_INJECT", whole.empty() ? trace : whole);
  }
  for (const auto& variable : perfield::tool_variables()) environment->push_back(variable);
  if (list.rfind(added, 0) == 0 && preload.sanitizers.empty())  // no sanitizer comes first
    environment->push_back(perfield::sanitizer_variable());
  const std::string file = absolute(configuration.file);
  if (!file.empty()) environment->emplace_back("PERFIELD_CONFIG", file);
  if (score_p || preload.score_p) {
    const std::string plugin = perfield::find_library("libscorep_substrate_perfield.so");
    if (!plugin.empty())
      for (const auto& variable : perfield::score_p_environment(plugin))
        environment->push_back(variable);
  }
  return true;
}

// The other ranks of a launch that is vouched for may be measured, and count on this one to take
// part in the comparison of clocks. It gets the wrappers of MPI alone, which count nothing. Where a
// limit of memory is too small for these, the ranks of its node are not measured either, and those
// of other nodes give up the comparison after a while.
void take_part_unmeasured(const std::string& program, Environment* environment) {
  if (!perfield::no_room_in_words().empty()) return;
  perfield::Preload preload = perfield::choose_preload(program, perfield::load_config().config);
  if (!preload.refusal.empty()) return;
  preload.libraries.resize(preload.n_wrappers);
  std::string added;
  const std::string list = perfield::preload_list(preload, &added);
  *environment = {
      {"LD_PRELOAD", list}, {"PERFIELD_PRELOADED", added}, {"PERFIELD_ENABLED", "false"}};
}

void print_exports(const Environment& environment) {
  for (const auto& [name, value] : environment) {
    std::string quoted;
    for (char c : value) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    std::printf("export %s='%s'\n", name.c_str(), quoted.c_str());
  }
}

// Returns 1 if files staged on this host could not be moved.
int collect(const std::string& run) {
  if (access((run + "/run.json").c_str(), F_OK) != 0) {
    std::fprintf(
        stderr,
        "perfield-exec: %s holds no run.json of perfield; give the directory that perfield "
        "made, by default perfield-run\n",
        run.c_str());
    return 2;
  }
  char path[PATH_MAX];
  struct stat facts {};
  std::string place = run;  // links in it are not followed, but it may be one
  if (lstat(run.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode) && realpath(run.c_str(), path))
    place = path;
  if (stat(place.c_str(), &facts) == 0) perfield::guard_directory(place, facts.st_uid);
  const perfield::Collection collection = perfield::collect_staged(place);
  for (const std::string& line : collection.done) print_line("collected  " + line);
  for (const std::string& line : collection.trouble) warn(line);
  const std::set<std::string> hosts(collection.elsewhere.begin(), collection.elsewhere.end());
  for (const std::string& host : hosts)
    print_line("elsewhere  files are still staged on host " + host + "; collect them there");
  if (collection.done.empty() && collection.trouble.empty() && hosts.empty())
    std::puts("nothing is staged");
  return !collection.trouble.empty();
}

// Exits like a shell: 127 if the program does not exist, 126 if it cannot be started.
int refuse_to_start(const std::string& name, int reason) {
  std::fprintf(stderr, "perfield-exec: cannot start %s: %s\n", name.c_str(), std::strerror(reason));
  return reason == ENOENT ? 127 : 126;
}

}  // namespace

int main(int n_arguments, char** arguments) {
  bool print = false, score_p = false;
  int at = 1;
  for (; at < n_arguments && arguments[at][0] == '-'; ++at) {
    const std::string option = arguments[at];
    if (option == "--help" || option == "-h") return std::fputs(kHelp, stdout) < 0;
    if (option == "--version") return std::puts("perfield " PERFIELD_VERSION) < 0;
    if (option == "--collect" && at + 2 == n_arguments) return collect(arguments[at + 1]);
    if (option == "--") {
      ++at;
      break;
    }
    if (option != "--print" && option != "--scorep") {
      std::fprintf(stderr,
                   "perfield-exec: unknown option %s; put the launcher's options before "
                   "perfield-exec and the program's options after it\n%s",
                   arguments[at], kHelp);
      return 2;
    }
    (option == "--print" ? print : score_p) = true;
  }
  if (at >= n_arguments) {
    std::fprintf(stderr, "perfield-exec: no program to start\n%s", kHelp);
    return 2;
  }
  const std::string name = arguments[at];
  const std::string program = perfield::find_program(name);
  if (program.empty()) return refuse_to_start(name, ENOENT);
  struct stat facts {};
  if (stat(program.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
    return refuse_to_start(name, S_ISDIR(facts.st_mode) ? EISDIR : EACCES);
  if (access(program.c_str(), X_OK) != 0) return refuse_to_start(name, EACCES);

  Environment environment;
  bool measured = false;
  {
    perfield::HeldBack signal(SIGXFSZ);  // a limit on files may be smaller than ours, or lstopo's
    measured = prepare(program, score_p, {arguments + at, arguments + n_arguments}, &environment);
  }
  if (print) {
    if (measured) print_exports(environment);
    return measured ? 0 : 1;
  }
  const std::string vouch = perfield::vouch_for(program);
  if (!vouch.empty() && !measured) take_part_unmeasured(program, &environment);
  if (measured) perfield::make_room_for_perfield();
  if (!vouch.empty()) environment.emplace_back("PERFIELD_ALL_RANKS", vouch);
  unsetenv("PERFIELD_ALL_RANKS");
  for (const auto& [variable, value] : environment) setenv(variable.c_str(), value.c_str(), 1);
  // execvp would have the shell read a program of another processor as a script.
  if (perfield::read_elf(program).is_elf)
    execv(program.c_str(), arguments + at);
  else
    execvp(arguments[at], arguments + at);
  return refuse_to_start(name, errno);
}
