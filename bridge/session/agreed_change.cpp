// SPDX-License-Identifier: BSD-3-Clause
//
// agreed_change.cpp - see agreed_change.hpp.
#include "session/agreed_change.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "platform/guarded.hpp"
#include "run_directory/shared_note.hpp"

namespace perfield {

Change agreed_change(const std::string& note) noexcept {
  Change change;
  char text[128] = "";
  const int fd = open_guarded(note, O_RDONLY);
  if (fd < 0) return change;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0 || sscanf(text, "%llu %llu %llu %llu %llu", &change.from, &change.to, &change.of,
                       &change.every, &change.between) < 2)
    return {};
  if (change.every == 0) change.every = 1;
  return change;
}

Change agree(const std::string& note, const Change& wanted) {
  const std::string text = std::to_string(wanted.from) + " " + std::to_string(wanted.to) + " " +
                           std::to_string(wanted.of) + " " + std::to_string(wanted.every) + " " +
                           std::to_string(wanted.between);
  return leave_note(note, text) ? agreed_change(note) : Change{};
}

}  // namespace perfield
