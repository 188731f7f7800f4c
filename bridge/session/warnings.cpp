// SPDX-License-Identifier: BSD-3-Clause
//
// warnings.cpp - the first process of a node that creates a topic's note (O_EXCL) may print. A
// process tries that once for each topic, since a program may make the same mistake in each step.
#include "session/warnings.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>

#include "platform/guarded.hpp"
#include "platform/quietly.hpp"
#include "platform/utf8.hpp"
#include "recorder/source.h"
#include "run_directory/job.hpp"
#include "run_directory/run_directory.hpp"
#include "session/rank_log.hpp"

namespace perfield {
namespace {

constexpr int kFirst = 101;  // initialized before constructors that warn

__attribute__((init_priority(kFirst))) std::string directory;

// What the program was started with as stderr. If it had none, or closes it, descriptor 2 may be
// any other file or connection.
struct Stderr {
  struct stat facts {};
  const bool is_open = fstat(STDERR_FILENO, &facts) == 0;
  bool is_same() const noexcept {
    struct stat now;
    return is_open && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == facts.st_dev &&
           now.st_ino == facts.st_ino;
  }
};
__attribute__((init_priority(kFirst))) const Stderr stderr_at_start;

// False the first time for each topic. Beyond so many topics it is always false.
bool tried_before(const std::string& topic) {
  static std::array<std::atomic<size_t>, 256> tried{};
  const size_t hash = std::hash<std::string>()(topic) | 1;  // 0 is an empty place
  for (size_t i = 0; i < tried.size(); ++i) {
    size_t found = 0;
    if (tried[(hash + i) % tried.size()].compare_exchange_strong(found, hash)) return false;
    if (found == hash) return true;
  }
  return false;
}

// kind: of the action that happens once for each topic.
bool is_first(const char* kind, const std::string& topic) {
  const char* const named = getenv("PERFIELD_RUN");  // by perfield-exec, if it is not open yet
  const std::string run = directory.empty() && named ? named : directory;
  if (run.empty()) return speaks_for_node();
  if (tried_before(kind + topic)) return false;
  const std::string note = run + "/stream/." + kind + "-" + stream_stem() + "-" + topic;
  int fd = open_guarded(note, O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) return errno != EEXIST && speaks_for_node();
  close(fd);
  return true;
}

}  // namespace

void set_warnings_directory(const std::string& run_directory) { directory = run_directory; }

void print(const std::string& text) noexcept {
  perfield_own_begin();
  if (stderr_at_start.is_same()) say(text);
  perfield_own_end();
}

bool first_on_node(const char* topic) noexcept {
  try {
    return is_first("first", topic);
  } catch (...) {
    return false;
  }
}

void warn_once_per_node(const std::string& topic, const std::string& sentence) noexcept {
  try {
    rank_log().line("warned     " + sentence);
    if (!is_first("reported", topic)) return;
    const bool is_line = false;  // commands to copy have lines of their own
    print("perfield: " + legible(sentence, is_line) + "\n");
  } catch (...) {
    // no memory for a sentence: prints nothing
  }
}

void warn_at_once(const std::string& sentence) noexcept {
  try {
    if (speaks_for_node()) print("perfield: " + legible(sentence) + "\n");
  } catch (...) {
    // the same
  }
}

void warn_once_per_node(const char* topic, const char* sentence) noexcept {
  try {
    warn_once_per_node(std::string(topic), std::string(sentence));
  } catch (...) {
    // the same
  }
}

}  // namespace perfield
