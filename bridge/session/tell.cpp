// SPDX-License-Identifier: BSD-3-Clause
//
// tell.cpp - the first process of a node that creates a topic's note (O_EXCL) may print.
#include "session/tell.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "platform/guarded.hpp"
#include "platform/quietly.hpp"
#include "recorder/source.h"
#include "run_directory/job.hpp"
#include "run_directory/run_directory.hpp"
#include "session/rank_log.hpp"

namespace perfield {
namespace {

std::string directory;

// If the program was started without stderr, descriptor 2 may now be any other file.
const bool has_stderr = fcntl(STDERR_FILENO, F_GETFD) >= 0;

// kind: of the action that happens once for each topic.
bool is_first(const char* kind, const std::string& topic) {
  if (directory.empty()) return speaks_for_node();
  std::string note = directory + "/stream/." + kind + "-" + stream_stem() + "-" + topic;
  int fd = open_guarded(note, O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) return errno != EEXIST && speaks_for_node();
  close(fd);
  return true;
}

}  // namespace

void set_tell_directory(const std::string& run_directory) { directory = run_directory; }

void speak(const std::string& text) noexcept {
  perfield_own_begin();
  if (has_stderr) say(text);
  perfield_own_end();
}

bool first_on_node(const char* topic) noexcept {
  try {
    return is_first("first", topic);
  } catch (...) {
    return false;
  }
}

void tell(const std::string& topic, const std::string& sentence) noexcept {
  try {
    rank_log().line("told       " + sentence);
    if (!is_first("told", topic)) return;
    speak("perfield: " + sentence + "\n");
  } catch (...) {
    // no memory for a sentence: prints nothing
  }
}

void tell_at_once(const std::string& sentence) noexcept {
  try {
    if (speaks_for_node()) speak("perfield: " + sentence + "\n");
  } catch (...) {
    // the same
  }
}

void tell(const char* topic, const char* sentence) noexcept {
  try {
    tell(std::string(topic), std::string(sentence));
  } catch (...) {
    // the same
  }
}

}  // namespace perfield
