// SPDX-License-Identifier: BSD-3-Clause
//
// vouch.cpp - see vouch.hpp. A script between the launcher and perfield-exec may start other ranks
// without it, so it makes any vouch void: Open MPI says what it started (OMPI_COMMAND), and the
// vouch for a process names it.
#include "launcher/vouch.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "run_directory/launchers.hpp"
#include "run_directory/run_directory.hpp"

namespace perfield {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// What vouches for all ranks of this launch, "" if nothing does.
std::string launch(int size) {
  const std::string programs = variable("OMPI_NUM_APP_CTX");
  if (!programs.empty() && programs != "1") return "";
  // MPICH's MPI_Test then aborts the program if it asks for a new communicator.
  if (!variable("MPIR_CVAR_ENABLE_FT").empty()) return "";
  const std::string given = variable("PERFIELD_ALL_RANKS"), run = variable("PERFIELD_RUN_ID");
  if (!given.empty())  // another form is the vouch for a process that started us: a script
    return !run.empty() && (given == run || given == run + ":" + std::to_string(size)) ? run : "";
  const std::string command = variable("OMPI_COMMAND");
  const bool is_ours = command == "perfield-exec" || ends_with(command, "/perfield-exec");
  return programs == "1" && is_ours ? "openmpi" : "";
}

}  // namespace

std::string vouch_for(const std::string& program) {
  int rank = 0, size = 0;
  struct stat facts {};
  if (!rank_from_environment(&rank, &size) || stat(program.c_str(), &facts) != 0) return "";
  const std::string by = launch(size);
  if (by.empty()) return "";
  return by + ":" + std::to_string(size) + ":" + std::to_string(getpid()) + ":" +
         std::to_string(facts.st_ino);
}

}  // namespace perfield
