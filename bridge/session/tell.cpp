// SPDX-License-Identifier: BSD-3-Clause
//
// tell.cpp - the first process of a node that creates the note of a topic may speak (O_EXCL).
#include "session/tell.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "stream/run_directory.hpp"

namespace perfield {
namespace {

std::string directory;

bool first_rank_of_node() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* value = getenv(name)) return !strcmp(value, "0");
  return true;
}

bool may_speak(const std::string& topic) {
  if (directory.empty()) return first_rank_of_node();
  std::string note = directory + "/stream/.told-" + stream_stem() + "-" + topic;
  int fd = open(note.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return errno != EEXIST && first_rank_of_node();
  close(fd);
  return true;
}

}  // namespace

void set_tell_directory(const std::string& run_directory) { directory = run_directory; }

void tell(const std::string& topic, const std::string& sentence) noexcept {
  try {
    if (!may_speak(topic)) return;
    std::string line = "perfield: " + sentence + "\n";
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // nobody listens
  } catch (...) {
    // no memory for a sentence: silence is better than harm
  }
}

}  // namespace perfield
